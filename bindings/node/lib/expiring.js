// Tables whose pairs expire, and how a table of either kind is opened.

import { KEY, VALUE } from './crossing.js'
import { booleans, stageAmounts, stagePairs, takeSums } from './many.js'
import { describe, takeNames } from './named.js'
import { native } from './native.js'
import { checkDecimal } from './shared/amounts.js'
import { INTERNAL } from './shared/internal.js'
import { readCount } from './shared/options.js'
import { readTtl, readWrite } from './shared/times.js'
import { inside, Table } from './table.js'

const verbs = native.expiring

export class ExpiringTable extends Table {
  #handle
  #keys
  #values

  constructor(internal, store, described, handle) {
    super(internal, store, described, handle)
    const { keys, values } = inside(this)
    this.#handle = handle
    this.#keys = keys
    this.#values = values
  }

  insert(key, value, options) {
    return this.#write(verbs.insert, key, value, options)
  }

  replace(key, value, options) {
    return this.#write(verbs.replace, key, value, options)
  }

  upsert(key, value, options) {
    return this.#write(verbs.upsert, key, value, options)
  }

  #write(write, key, value, options) {
    const ttl = readWrite(options)
    const item = this.#values.toItem(value, 'value')
    return write(this.#handle, this.#key(key), this.#values.cross(item, VALUE), ttl)
  }

  delete(key) {
    return verbs.delete(this.#handle, this.#key(key))
  }

  select(key) {
    return this.#values.read(verbs.select(this.#handle, this.#key(key)), VALUE)
  }

  contains(key) {
    return verbs.contains(this.#handle, this.#key(key))
  }

  increment(key, by = 1, options = undefined) {
    const ttl = readWrite(options)
    checkDecimal(this.#values)
    return verbs.increment(this.#handle, this.#key(key), by, ttl)
  }

  ttl(key) {
    return verbs.ttl(this.#handle, this.#key(key))
  }

  touch(key, ttl) {
    const lifetime = readTtl(ttl)
    return verbs.touch(this.#handle, this.#key(key), lifetime)
  }

  removeExpired(limit = Number.MAX_SAFE_INTEGER) {
    return verbs.removeExpired(this.#handle, readCount(limit, 'a limit'))
  }

  // --- verbs on many

  insertMany(pairs, options) {
    return this.#writeMany(verbs.insertMany, pairs, options)
  }

  replaceMany(pairs, options) {
    return this.#writeMany(verbs.replaceMany, pairs, options)
  }

  upsertMany(pairs, options) {
    return this.#writeMany(verbs.upsertMany, pairs, options)
  }

  #writeMany(write, pairs, options) {
    const ttl = readWrite(options)
    stagePairs(verbs, this.#handle, { keys: this.#keys, values: this.#values }, pairs)
    return booleans(write(ttl))
  }

  incrementMany(amounts, options) {
    const ttl = readWrite(options)
    checkDecimal(this.#values)
    stageAmounts(verbs, this.#handle, { keys: this.#keys }, amounts)
    verbs.incrementMany(ttl)
    return takeSums()
  }

  /** A key as the native half takes it. */
  #key(key) {
    return this.#keys.cross(this.#keys.toItem(key, 'key'), KEY)
  }
}

/** The table that the native half has opened by this number, with the codecs that were named. */
export function openTable(store, name, named, handle, more) {
  const names = takeNames()
  const { see, free } = native[names.kind]
  try {
    const described = describe(name, named, names)
    const { keys, values } = described.codecs
    see(handle, Number(keys.isBytes), Number(values.isBytes))
    const Kind = names.kind === 'table' ? Table : ExpiringTable
    return new Kind(INTERNAL, store, { ...described, ...more }, handle)
  } catch (error) {
    free(handle)
    throw error
  }
}
