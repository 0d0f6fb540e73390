// What the caches of both packages share: the names of lru-cache, times to live, and one computation at a time.

import { rangeError, typeError } from './errors.js'
import { INSPECT } from './internal.js'
import { readBoolean, readCount, readFunction, readIterable, readOptions, readTuple } from './options.js'
import { MapLike } from './table.js'

const CACHE = ['max', 'maxSize', 'ttl', 'keys', 'values', 'fetchMethod']
const WRITE = ['ttl']
const FETCH = ['ttl', 'forceRefresh', 'signal', 'context']

/** A time to live as the native halves take it: whole milliseconds, `Infinity` for ever, `undefined` for the cache's own. */
export function readTtl(ttl) {
  if (ttl === undefined) return undefined
  if (typeof ttl !== 'number') throw typeError('a time to live is a number of milliseconds', ttl)
  if (!(ttl >= 0)) throw rangeError(`a time to live is 0 or more milliseconds, not ${ttl}`)
  // As in lru-cache, 0 is none.
  return ttl === 0 ? Number.POSITIVE_INFINITY : Math.ceil(ttl)
}

/** The time to live that the options of a write say. */
export const readWrite = (options) =>
  options === undefined ? undefined : readTtl(readOptions(options, 'a write', WRITE).ttl)

function readSize(size, what) {
  if (size === undefined) return undefined
  if (readCount(size, what) > 0) return size
  throw rangeError(`${what} is at least 1`)
}

/** The options of a cache. A new one needs one of its two capacities. */
export function readCache(options, what, more = []) {
  const read = readOptions(options, what, [...CACHE, ...more])
  const { fetchMethod } = read
  if (fetchMethod !== undefined) readFunction(fetchMethod, 'fetchMethod')
  const max = readSize(read.max, 'max')
  const maxSize = readSize(read.maxSize, 'maxSize')
  if (max !== undefined && maxSize !== undefined)
    throw rangeError('a cache has a max in pairs or a maxSize in bytes, not both')
  return { ...read, max, maxSize, ttl: readTtl(read.ttl), fetchMethod }
}

export const needsSize = () => rangeError('a new cache needs a max in pairs, or a maxSize in bytes')

/** What identifies a key among those that are being computed. */
export const nameOf = (item) => (typeof item === 'string' ? item : String.fromCharCode(...item))

/**
 * For a class that has the verbs, `entries`, `name`, `codecs`, `figures()` and `keyItem(key)`, what its codec makes of a key.
 * `flights` has what is being computed, for all handles of the cache. Who writes or deletes calls `landed(item)` first.
 */
export class CacheLike extends MapLike {
  #flights
  #fetchMethod

  constructor(flights, fetchMethod) {
    super()
    this.#flights = flights
    this.#fetchMethod = fetchMethod
  }

  /** As in lru-cache, `undefined` removes the pair. */
  set(key, value, options) {
    if (value === undefined) this.delete(key)
    else this.upsert(key, value, options)
    return this
  }

  get max() {
    return this.figures().max
  }

  get maxSize() {
    return this.figures().maxSize
  }

  get ttl() {
    return this.figures().ttl
  }

  get memory() {
    return this.figures().memory
  }

  stats() {
    const { hits, misses, writes, evictions, expirations } = this.figures()
    return { hits, misses, writes, evictions, expirations }
  }

  // --- verbs on many, whose arguments are all read before the first write

  upsertMany(pairs, options) {
    const ttl = readWrite(options) === undefined ? undefined : options
    const read = Array.from(readIterable(pairs, 'the pairs'), (pair) => readTuple(pair, 2, 'the pairs'))
    return read.map(([key, value]) => this.upsert(key, value, ttl))
  }

  selectMany(keys) {
    return Array.from(readIterable(keys, 'the keys'), (key) => this.select(key))
  }

  deleteMany(keys) {
    return Array.from(readIterable(keys, 'the keys')).map((key) => this.delete(key))
  }

  // --- one computation at a time

  async fetch(key, options) {
    const { forceRefresh = false, signal, context, ttl } = readOptions(options, 'a fetch', FETCH)
    readBoolean(forceRefresh, 'forceRefresh')
    const lifetime = readTtl(ttl)
    const found = this.select(key)
    const fetch = this.#fetchMethod
    if (fetch === undefined || (found !== undefined && !forceRefresh)) return found
    return this.#fly(key, () => fetch(key, found, { signal, options: { ttl }, context }), lifetime)
  }

  async getOrCompute(key, compute, options) {
    readFunction(compute, 'what computes a value')
    const ttl = readWrite(options)
    const found = this.select(key)
    return found === undefined ? this.#fly(key, compute, ttl) : found
  }

  /** What `compute` makes, or what it is making already. */
  #fly(key, compute, ttl) {
    const name = nameOf(this.keyItem(key))
    const other = this.#flights.get(name)
    if (other !== undefined) return other
    // Not at once, so that it finds itself when it asks for its own key.
    const flight = Promise.resolve()
      .then(compute)
      .then((value) => {
        // What was written or deleted meanwhile is newer.
        if (value !== undefined && this.#flights.get(name) === flight) this.#write(key, value, ttl)
        return value
      })
      .finally(() => {
        if (this.#flights.get(name) === flight) this.#flights.delete(name)
      })
    this.#flights.set(name, flight)
    return flight
  }

  #write(key, value, ttl) {
    try {
      this.upsert(key, value, ttl === undefined ? undefined : { ttl })
    } catch (error) {
      // What does not fit is computed all the same.
      if (error.code !== 'TWINDEX_MEMORY_LIMIT') throw error
    }
  }

  /** Whether anything is being computed. */
  isComputing() {
    return this.#flights.size > 0
  }

  /** What is being computed for this key, or for all, is not to be written any more. */
  landed(item) {
    if (this.#flights.size === 0) return
    if (item === undefined) this.#flights.clear()
    else this.#flights.delete(nameOf(item))
  }

  get [Symbol.toStringTag]() {
    return 'Cache'
  }

  [INSPECT](_depth, options, inspect) {
    const { keys, values } = this.codecs
    return `Cache ${inspect({ name: this.name, size: this.size, keys, values }, options)}`
  }
}
