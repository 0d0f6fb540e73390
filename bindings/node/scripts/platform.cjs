'use strict'
// Where the native module may be: built here, or prebuilt for this platform.

const { join } = require('node:path')

const root = join(__dirname, '..')

/** Linux has two C libraries, and a module fits only one. */
const libc = () => (process.report.getReport().header.glibcVersionRuntime === undefined ? '-musl' : '')
const platform = `${process.platform}-${process.arch}${process.platform === 'linux' ? libc() : ''}`

const built = join(root, 'twindex.node')
const prebuilt = join(root, 'prebuilds', `twindex.${platform}.node`)

module.exports = { root, platform, built, prebuilt, binaries: [built, prebuilt] }
