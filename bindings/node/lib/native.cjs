'use strict'
// The native half, as it was built on this machine or came with the package.

const { existsSync } = require('node:fs')
const { platform, built, prebuilt } = require('../scripts/platform.cjs')

/** The module that came with the package, if it is there. */
function findPrebuilt() {
  const name = platform()
  const path = prebuilt(name)
  if (path !== undefined) return path
  throw Object.assign(new Error(`twindex has no native module for ${name}: run "npm rebuild twindex"`), {
    code: 'MODULE_NOT_FOUND',
  })
}

const path = existsSync(built) ? built : findPrebuilt()

module.exports = { ...require(path), path }
