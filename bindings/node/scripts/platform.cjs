'use strict'
// Where the native module may be: built here, or prebuilt for this platform.

const { join } = require('node:path')

const root = join(__dirname, '..')

/** Linux has two C libraries, and a module fits only one. */
function libc() {
  // Else the report looks up the names of all network peers.
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime === undefined ? '-musl' : ''
}

/** The name of this platform among the prebuilt modules. */
function platform() {
  return `${process.platform}-${process.arch}${process.platform === 'linux' ? libc() : ''}`
}

const built = join(root, 'twindex.node')
const prebuilt = (name) => join(root, 'prebuilds', `twindex.${name}.node`)

module.exports = { root, platform, built, prebuilt }
