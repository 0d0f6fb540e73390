// The native half, as it was built on this machine or came with the package.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { built, platform, prebuilt } from '../scripts/platform.js'

/** The module that came with the package, if it is there. */
function findPrebuilt() {
  const name = platform()
  const found = prebuilt(name)
  if (found !== undefined) return found
  throw Object.assign(new Error(`twindex has no native module for ${name}: run "npm rebuild twindex"`), {
    code: 'MODULE_NOT_FOUND',
  })
}

export const path = existsSync(built) ? built : findPrebuilt()

/** A native module. */
export const load = createRequire(import.meta.url)

export const native = load(path)
