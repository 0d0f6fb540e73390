// A driver of unstorage, in memory: `createStorage({ driver: twindexDriver({ capacity: 64e6 }) })`.

import { Cache } from './cache.js'
import { BOUNDS } from './shared/cache.js'
import { typeError } from './shared/errors.js'
import { readOptions } from './shared/options.js'
import { encodeText } from './shared/text.js'
import { lifetimeOf } from './shared/times.js'

const OPTIONS = [...BOUNDS, 'shared', 'base']

/** unstorage gives a time to live in seconds. */
const lifetime = (options) => {
  const ttl = options?.ttl
  return lifetimeOf(typeof ttl === 'number' ? ttl * 1000 : ttl)
}

export function twindexDriver(options) {
  const { base = '', ...given } = readOptions(options, 'an unstorage driver', OPTIONS)
  if (typeof base !== 'string') throw typeError('a base is a string', base)
  const cache = new Cache({ ...given, values: 'bytes' })
  const nameOf = (key) => (base === '' ? key : `${base}:${key}`)
  const start = base === '' ? '' : `${base}:`
  const keysFrom = (from) => [...cache.keys()].filter((key) => key.startsWith(start + from))
  return {
    name: 'twindex',
    options,
    getInstance: () => cache,
    hasItem: (key) => cache.has(nameOf(key)),
    getItem: (key) => cache.get(nameOf(key))?.toString() ?? null,
    getItemRaw: (key) => cache.get(nameOf(key)) ?? null,
    setItem(key, value, given) {
      cache.set(nameOf(key), encodeText(value, 'value'), lifetime(given))
    },
    setItemRaw(key, value, given) {
      cache.set(nameOf(key), typeof value === 'string' ? encodeText(value, 'value') : value, lifetime(given))
    },
    removeItem(key) {
      cache.delete(nameOf(key))
    },
    getKeys: (from = '') => keysFrom(from).map((key) => key.slice(start.length)),
    getMeta(key) {
      const left = cache.getRemainingTTL(nameOf(key))
      return left > 0 && Number.isFinite(left) ? { ttl: left / 1000 } : {}
    },
    clear(from = '') {
      if (start + from === '') cache.clear()
      else cache.deleteMany(keysFrom(from))
    },
    dispose() {},
  }
}
