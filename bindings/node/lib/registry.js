// Other copies of this package in the process, such as another version that a dependency brought. Each has stores of its
// own, so two that were asked for one name would silently not share.

import { realpathSync } from 'node:fs'
import { basename } from 'node:path'
import { load, native, path as own } from './native.js'
import { makeError } from './shared/errors.js'

/** Not `twindex-cluster.node`, which shares nothing. */
const NATIVE = /^twindex(\..*)?\.node$/

function resolve(path) {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** The native modules of other copies that some thread has loaded. A report of Node's would wait for all threads. */
function otherCopies() {
  const found = JSON.parse(native.loadedModules()).filter((path) => NATIVE.test(basename(path)))
  const ours = resolve(own)
  return [...new Set(found)].filter((path) => resolve(path) !== ours)
}

/** Fails where another copy has a store of this name, or a cache, or cannot be asked. `ask` is the name of the question. */
export function checkOtherCopies(name, ask) {
  for (const path of otherCopies()) {
    const { [ask]: hasShared } = load(path)
    if (hasShared === undefined || hasShared(name)) {
      throw makeError(
        'TWINDEX_OTHER_COPY',
        `another copy of the package twindex, ${path}, shares "${name}" in this process, and copies do not share: ` +
          'install one version for all (npm dedupe), or choose another name',
      )
    }
  }
}
