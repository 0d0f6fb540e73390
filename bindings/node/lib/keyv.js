// A storage adapter of Keyv, for its versions 5 and 6. Both put the namespace before the keys themselves: 6 does since this has
// neither `has` nor `capabilities`.

import { EventEmitter } from 'node:events'
import { typeError } from './shared/errors.js'
import { readOptions, readString } from './shared/options.js'
import { openSync, Store } from './store.js'

const OPTIONS = ['path', 'durability', 'memoryLimit', 'store', 'table']

export class KeyvTwindex extends EventEmitter {
  namespace = undefined
  // Keyv 5 has an iterator for adapters alone whose dialect it knows; this one it takes as it is.
  opts = { dialect: 'redis', url: '' }

  #store
  #isOwn
  #table

  constructor(options) {
    super()
    const {
      path,
      durability,
      memoryLimit,
      store,
      table = 'keyv',
    } = readOptions(options, 'a Keyv adapter', OPTIONS)
    if (store !== undefined && !(store instanceof Store)) throw typeError('a store is a Store', store)
    readString(table, "a table's name")
    this.#isOwn = store === undefined
    if (!this.#isOwn) this.#store = store
    else
      this.#store =
        path === undefined ? new Store({ memoryLimit }) : openSync(path, { durability, memoryLimit })
    // In order, so that a namespace is a range.
    this.#table = this.#store.table(table, { index: 'sorted' })
  }

  async get(key) {
    return this.#table.select(key)
  }

  async getMany(keys) {
    return this.#table.selectMany(keys)
  }

  async set(key, value) {
    return this.#table.upsert(key, value)
  }

  async setMany(entries) {
    return this.#table.upsertMany(entries.map(({ key, value }) => [key, value]))
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

  #pairs(namespace) {
    return this.#table.scan(namespace === undefined ? {} : { prefix: `${namespace}:` })
  }
}
