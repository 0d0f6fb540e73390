'use strict'
// The native half, as it was built on this machine or came with the package.

const { existsSync } = require('node:fs')
const { platform, built, prebuilt } = require('../scripts/platform.cjs')

/** The module that came with the package, if it is there. */
function findPrebuilt() {
  const name = platform()
  const path = prebuilt(name)
  if (existsSync(path)) return path
  throw Object.assign(new Error(`twindex has no native module for ${name}: run "npm rebuild twindex"`), {
    code: 'MODULE_NOT_FOUND',
  })
}

module.exports = require(existsSync(built) ? built : findPrebuilt())
