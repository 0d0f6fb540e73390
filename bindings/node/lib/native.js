// The native half, as it was built on this machine or came with the package.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { built, packageOf, prebuilt } from '../scripts/platform.js'
import { platform } from './shared/platform.js'

/** The module that came with the package, if it is there. */
function findPrebuilt() {
  const name = platform()
  const found = prebuilt(name)
  if (found !== undefined) return found
  const message =
    `twindex has no native module here: npm installs it as the optional package ${packageOf(name)} where there is one; ` +
    'in a checkout, npm run build makes it'
  throw Object.assign(new Error(message), { code: 'MODULE_NOT_FOUND' })
}

export const path = existsSync(built) ? built : findPrebuilt()

/** A native module. */
export const load = createRequire(import.meta.url)

export const native = load(path)
