// Runs at `npm install`: takes a native module that fits, and builds it from source otherwise.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { built, prebuilt, root, shared } from './platform.js'

const require = createRequire(import.meta.url)

function fits(binary) {
  if (binary === undefined) return false
  try {
    require(binary)
    return true
  } catch (error) {
    console.error(`twindex: ${binary} does not fit: ${error.message}`)
    return false
  }
}

/** Not in a package that was packed, which has its copy. */
async function share() {
  const script = new URL('../../js/share.js', import.meta.url)
  if (existsSync(script)) (await import(script)).share(shared)
}

async function install() {
  const { platform } = await import('../lib/shared/platform.js')
  const name = platform()
  if (fits(prebuilt(name))) {
    console.error(`twindex: using the prebuilt native module for ${name}`)
  } else if (existsSync(join(root, 'Cargo.toml'))) {
    await import('./build.js')
  } else if (existsSync(built) && fits(built)) {
    console.error('twindex: using the native module that was packed')
  } else {
    throw new Error(
      `twindex: this package has no prebuilt native module for ${name}, and no sources to build one from.\n` +
        'Install it from a checkout of the repository instead: npm install <checkout>/bindings/node',
    )
  }
}

try {
  await share()
  await install()
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
