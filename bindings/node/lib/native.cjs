'use strict'
// The native half, as it was built on this machine or came with the package.

const { existsSync } = require('node:fs')
const { binaries } = require('../scripts/platform.cjs')

const found = binaries.find((path) => existsSync(path))
if (found === undefined) {
  throw Object.assign(
    new Error(
      `twindex has no native module for ${process.platform}-${process.arch}: run "npm rebuild twindex"`,
    ),
    { code: 'MODULE_NOT_FOUND' },
  )
}

module.exports = require(found)
