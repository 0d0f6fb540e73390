// Where the native module may be: built here, or in the package for this platform, which npm installs beside this one; and where
// this package has what all share.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const { resolve } = createRequire(import.meta.url)

export const root = fileURLToPath(new URL('..', import.meta.url))

/** The package for a platform. */
export const packageOf = (name) => `@twindex/${name}`

export const built = join(root, 'twindex.node')
export const shared = join(root, 'lib/shared')

/** The module in the package for a platform; `undefined` where that is not installed. */
export function prebuilt(name) {
  try {
    return resolve(`${packageOf(name)}/twindex.node`)
  } catch {
    return undefined
  }
}
