// Where the native module may be: built here, or in the package for this platform, which npm installs beside this one.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const { resolve } = createRequire(import.meta.url)

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Linux has two C libraries, and a module fits only one. */
function libc() {
  // Else the report looks up the names of all network peers.
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'gnu'
}

const ABI = { linux: libc, win32: () => 'msvc' }

/** The name of this platform, as napi-rs has it: `linux-x64-gnu`. */
export function platform() {
  return [process.platform, process.arch, ABI[process.platform]?.()].filter(Boolean).join('-')
}

/** The package for a platform. */
export const packageOf = (name) => `@twindex/${name}`

export const built = join(root, 'twindex.node')

/** The module in the package for a platform; `undefined` where that is not installed. */
export function prebuilt(name) {
  try {
    return resolve(`${packageOf(name)}/twindex.node`)
  } catch {
    return undefined
  }
}
