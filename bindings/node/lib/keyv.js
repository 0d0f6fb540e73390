// A storage adapter of Keyv, for its versions 5 and 6. Both put the namespace before the keys themselves: 6 does since this has
// neither `has` nor `capabilities`.

import { EventEmitter } from 'node:events'
import { Cache } from './cache.js'
import { BOUNDS } from './shared/cache.js'
import { rangeError, typeError } from './shared/errors.js'
import { readOptions, readString } from './shared/options.js'
import { lifetimeOf } from './shared/times.js'
import { openSync, Store } from './store.js'

const OPTIONS = ['path', 'durability', 'memoryLimit', 'store', 'table', 'shared', ...BOUNDS]

/** No bound on the number of pairs. */
const ANY_NUMBER = Number.MAX_SAFE_INTEGER

/** The pairs in a table whose pairs expire, in order, so that a namespace is a range. */
function inTable(store, name) {
  const table = store.table(name, { index: 'sorted', expires: true })
  const pairs = (namespace) => table.scan(namespace === undefined ? {} : { prefix: `${namespace}:` })
  const set = (key, value, ttl) => table.upsert(key, value, lifetimeOf(ttl))
  function setMany(entries) {
    const times = new Set(entries.map(({ ttl }) => ttl))
    if (times.size > 1) return entries.map(({ key, value, ttl }) => set(key, value, ttl))
    // One record on disk for all of them.
    return table.upsertMany(
      entries.map(({ key, value }) => [key, value]),
      lifetimeOf(entries[0]?.ttl),
    )
  }
  return { pairs, table, set, setMany }
}

/** The pairs in a cache, which evicts pairs where it is full. */
function inCache(options) {
  const table = new Cache({ values: 'str', ...options })
  function* pairs(namespace) {
    for (const pair of table) if (namespace === undefined || pair[0].startsWith(`${namespace}:`)) yield pair
  }
  const set = (key, value, ttl) => {
    const isKept = table.upsert(key, value, lifetimeOf(ttl))
    // Where the new value is too large, the old one goes all the same.
    if (!isKept) table.delete(key)
    return isKept
  }
  const setMany = (entries) => entries.map(({ key, value, ttl }) => set(key, value, ttl))
  return { pairs, table, set, setMany }
}

export class KeyvTwindex extends EventEmitter {
  namespace = undefined
  // Keyv 5 has an iterator for adapters alone whose dialect it knows; this one it takes as it is.
  opts = { dialect: 'redis', url: '' }

  /** The store of its own, if it has one. */
  #store
  /** A table or a cache. */
  #table
  #set
  #setMany
  #pairs

  constructor(options) {
    super()
    const given = readOptions(options, 'a Keyv adapter', OPTIONS)
    const { path, durability, memoryLimit, store, table = 'keyv', shared, ...bounds } = given
    if (store !== undefined && !(store instanceof Store)) throw typeError('a store is a Store', store)
    readString(table, "a table's name")
    const isInMemory = path === undefined && store === undefined
    if (!isInMemory && (shared !== undefined || Object.keys(bounds).length > 0))
      throw rangeError('an adapter with a path or a store has no bounds and is no cache')
    if (isInMemory && memoryLimit !== undefined)
      throw rangeError('an adapter in memory has a capacity, not a memoryLimit')
    if (path !== undefined) this.#store = openSync(path, { durability, memoryLimit })
    const isBounded = ['capacity', 'maxEntries', 'max'].some((name) => bounds[name] !== undefined)
    if (isInMemory && !isBounded) bounds.maxEntries = ANY_NUMBER
    const opened = isInMemory ? inCache({ shared, ...bounds }) : inTable(store ?? this.#store, table)
    this.#table = opened.table
    this.#set = opened.set
    this.#setMany = opened.setMany
    this.#pairs = opened.pairs
  }

  async get(key) {
    return this.#table.select(key)
  }

  async getMany(keys) {
    return this.#table.selectMany(keys)
  }

  async set(key, value, ttl) {
    return this.#set(key, value, ttl)
  }

  async setMany(entries) {
    return this.#setMany(entries)
  }

  async delete(key) {
    return this.#table.delete(key)
  }

  async deleteMany(keys) {
    return this.#table.deleteMany(keys).includes(true)
  }

  async clear() {
    if (this.namespace === undefined) this.#table.clear()
    else this.#table.deleteMany(Array.from(this.#pairs(this.namespace), ([key]) => key))
  }

  async *iterator(namespace) {
    yield* this.#pairs(namespace)
  }

  async disconnect() {
    await this.#store?.close()
  }
}
