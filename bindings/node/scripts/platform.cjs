'use strict'
// Where the native module may be: built here, or in the package for this platform, which npm installs beside this one.

const { join } = require('node:path')

const root = join(__dirname, '..')

/** Linux has two C libraries, and a module fits only one. */
function libc() {
  // Else the report looks up the names of all network peers.
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'gnu'
}

const ABI = { linux: libc, win32: () => 'msvc' }

/** The name of this platform, as napi-rs has it: `linux-x64-gnu`. */
function platform() {
  return [process.platform, process.arch, ABI[process.platform]?.()].filter(Boolean).join('-')
}

/** The package for a platform. */
const packageOf = (name) => `@twindex/${name}`

const built = join(root, 'twindex.node')

/** The module in the package for a platform; `undefined` where that is not installed. */
function prebuilt(name) {
  try {
    return require.resolve(`${packageOf(name)}/twindex.node`)
  } catch {
    return undefined
  }
}

module.exports = { root, platform, packageOf, built, prebuilt }
