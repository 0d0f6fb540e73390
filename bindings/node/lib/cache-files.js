// Caches in files and bytes.

import { readPath } from './files.js'
import { native } from './native.js'
import { typeError } from './shared/errors.js'
import { readOptions } from './shared/options.js'
import { ownBytes, viewBytes } from './shared/views.js'
import { later } from './tasks.js'

const NOW = 0
const LATER_ON = 1

function readSource(source) {
  if (ArrayBuffer.isView(source)) return ownBytes(viewBytes(source, 'dump'))
  if (typeof source === 'string' || source instanceof URL) return readPath(source)
  throw typeError('a cache is loaded from bytes or a path', source)
}

/** What loads a cache into the store with this number: `now()`, or `later()` as a promise. */
export function loaderOf(store, name, source, { max, maxSize, ttl, keys, values, signal }) {
  const from = readSource(source)
  // Bytes are negative: a native function takes eight arguments.
  const capacity = maxSize === undefined ? max : -maxSize
  const load = (isLater) =>
    native.loadCache(store, name, from, capacity, ttl, keys?.name, values?.name, isLater)
  return {
    now: () => load(NOW),
    later: (undo) => later({ signal }, () => load(LATER_ON), undo),
  }
}

export function saveSync(cache, path) {
  native.saveCache(cache, readPath(path), NOW)
}

export async function save(cache, path, options) {
  const read = readOptions(options, 'a save', ['signal'])
  const file = readPath(path)
  return later(read, () => native.saveCache(cache, file, LATER_ON))
}

export const dumpSync = (cache) => native.dumpCache(cache, NOW)

export async function dump(cache, options) {
  return later(readOptions(options, 'a dump', ['signal']), () => native.dumpCache(cache, LATER_ON))
}
