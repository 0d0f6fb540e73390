// Runs at `npm install`: takes a prebuilt native module where one fits, and builds it from source otherwise.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const require = createRequire(import.meta.url)
const { root, platform, prebuilt } = require('./platform.cjs')

function fits(binary) {
  try {
    require(binary)
    return true
  } catch (error) {
    console.error(`twindex: ${binary} does not fit: ${error.message}`)
    return false
  }
}

async function install() {
  const name = platform()
  const binary = prebuilt(name)
  if (binary !== undefined && fits(binary)) {
    console.error(`twindex: using the prebuilt native module for ${name}`)
    return
  }
  if (!existsSync(join(root, 'Cargo.toml'))) {
    throw new Error(
      `twindex: this package has no prebuilt native module for ${name}, and no sources to build one from.\n` +
        'Install it from a checkout of the repository instead: npm install <checkout>/bindings/node',
    )
  }
  await import('./build.js')
}

try {
  await install()
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
