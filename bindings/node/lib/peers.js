// Packages that a user has who uses an adapter of ours.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Where a package is looked for: beside this one, and where the program is, since this one may be a link to a checkout. */
function places() {
  const here = pathToFileURL(join(process.cwd(), 'here.js'))
  return [import.meta.url, process.argv[1] && pathToFileURL(process.argv[1]), here].filter(Boolean)
}

function resolve(name) {
  for (const place of places()) {
    try {
      return createRequire(place).resolve(name)
    } catch {
      // The next place may have it.
    }
  }
  const message =
    `twindex/level needs the package ${name}, which is not installed: npm install ${name}. ` +
    'If it is, and twindex is a link to a checkout, then run the program from its own folder, ' +
    'or install a copy instead: npm install --install-links <checkout>/bindings/node'
  throw Object.assign(new Error(message), { code: 'MODULE_NOT_FOUND' })
}

export const abstractLevel = () => createRequire(import.meta.url)(resolve('abstract-level'))
