// A storage adapter of Keyv, for its versions 5 and 6. Both put the namespace before the keys themselves: 6 does since this has
// neither `has` nor `capabilities`.

import { EventEmitter } from 'node:events'
import { rangeError, typeError } from './shared/errors.js'
import { readOptions, readString } from './shared/options.js'
import { openSync, Store } from './store.js'

const OPTIONS = ['path', 'durability', 'memoryLimit', 'store', 'table', 'max', 'maxSize']

/** No bound on the number of pairs. */
const ANY_NUMBER = Number.MAX_SAFE_INTEGER

/** The pairs in a table, in order, so that a namespace is a range. Keyv meets what has expired, and removes it. */
function inTable(store, name) {
  const table = store.table(name, { index: 'sorted' })
  const pairs = (namespace) => table.scan(namespace === undefined ? {} : { prefix: `${namespace}:` })
  const set = (key, value) => table.upsert(key, value)
  // One record on disk for all of them.
  const setMany = (entries) => table.upsertMany(entries.map(({ key, value }) => [key, value]))
  return { pairs, table, set, setMany }
}

/** The pairs in a cache, which removes what has expired, and what matters least where it is full. */
function inCache(store, name, { max, maxSize }) {
  const table = store.cache(name, maxSize === undefined ? { max: max ?? ANY_NUMBER } : { max, maxSize })
  function* pairs(namespace) {
    for (const pair of table) if (namespace === undefined || pair[0].startsWith(`${namespace}:`)) yield pair
  }
  const set = (key, value, ttl) => table.upsert(key, value, ttl > 0 ? { ttl } : undefined)
  const setMany = (entries) => entries.map(({ key, value, ttl }) => set(key, value, ttl))
  return { pairs, table, set, setMany }
}

export class KeyvTwindex extends EventEmitter {
  namespace = undefined
  // Keyv 5 has an iterator for adapters alone whose dialect it knows; this one it takes as it is.
  opts = { dialect: 'redis', url: '' }

  #store
  #isOwn
  /** A table or a cache. */
  #table
  #set
  #setMany
  #pairs

  constructor(options) {
    super()
    const {
      path,
      durability,
      memoryLimit,
      store,
      table = 'keyv',
      max,
      maxSize,
    } = readOptions(options, 'a Keyv adapter', OPTIONS)
    if (store !== undefined && !(store instanceof Store)) throw typeError('a store is a Store', store)
    readString(table, "a table's name")
    const isBounded = max !== undefined || maxSize !== undefined
    // A cache is not in the log of a file.
    if (isBounded && (path ?? store?.path) !== undefined)
      throw rangeError('max and maxSize are for an adapter in memory alone, without a path')
    this.#isOwn = store === undefined
    if (!this.#isOwn) this.#store = store
    else
      this.#store =
        path === undefined ? new Store({ memoryLimit }) : openSync(path, { durability, memoryLimit })
    const isCache = isBounded || this.#isOwn
    const opened =
      isCache && path === undefined
        ? inCache(this.#store, table, { max, maxSize })
        : inTable(this.#store, table)
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
    if (this.#isOwn) await this.#store.close()
  }
}
