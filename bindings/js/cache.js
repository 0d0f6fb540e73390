// What the caches of both packages share: the names of lru-cache, times to live, and one computation at a time.

import { untilAborted } from './abort.js'
import { makeError, rangeError, typeError } from './errors.js'
import { INSPECT } from './internal.js'
import {
  readBoolean,
  readCount,
  readFunction,
  readIterable,
  readOptions,
  readSignal,
  readTuple,
} from './options.js'
import { Pairs } from './table.js'
import { encodeText } from './text.js'

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

const bytesToText = new TextDecoder('latin1')
const ASCII = /^[\0-\x7f]*$/

/** A text that identifies a key of any codec among those that are being computed: of its bytes, each a character. */
export function nameOf(item) {
  if (typeof item === 'string' && ASCII.test(item)) return item
  return bytesToText.decode(typeof item === 'string' ? encodeText(item, 'key') : item)
}

/** Which computation runs, as far as that can be known everywhere: until it first waits. */
let running
const synchronous = {
  current: () => running,
  run(flight, compute) {
    const outer = running
    running = flight
    try {
      return compute()
    } finally {
      running = outer
    }
  },
}

/** Whether a computation waits for another one, perhaps by others between. */
const waitsFor = (flight, other) =>
  flight === other || [...flight.awaited].some((next) => waitsFor(next, other))

/**
 * For a class that has the verbs and `figures()`. `access` has, beside what `Pairs` needs, `select(item)` and
 * `begin(item, isRefresh)`, a computation of the cache's. That computation `stands()` until the key is written or deleted, may
 * `store(value, ttl)` until then, and has an `end()`. `flights` has those that this thread makes, for all handles of the cache.
 * `tracker` knows which one runs.
 */
export class CacheLike extends Pairs {
  #flights
  #fetchMethod
  #access
  #tracker

  constructor(store, described, access, tracker = synchronous) {
    super(store, described, access)
    this.#flights = described.flights
    this.#fetchMethod = described.read.fetchMethod
    this.#access = access
    this.#tracker = tracker
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
    const ttl = readWrite(options)
    const read = Array.from(readIterable(pairs, 'the pairs'), (pair) => readTuple(pair, 2, 'the pairs'))
    return read.map(([key, value]) => this.upsert(key, value, ttl === undefined ? undefined : { ttl }))
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
    readSignal(signal)?.throwIfAborted()
    const lifetime = readTtl(ttl)
    const item = this.#access.of(key)
    const found = this.#access.select(item)
    const fetch = this.#fetchMethod
    if (fetch === undefined || (found !== undefined && !forceRefresh)) return found
    const compute = () => fetch(key, found, { signal, options: { ttl }, context })
    return untilAborted(this.#fly(item, compute, lifetime, forceRefresh), signal)
  }

  async getOrCompute(key, compute, options) {
    readFunction(compute, 'compute')
    const ttl = readWrite(options)
    const item = this.#access.of(key)
    const found = this.#access.select(item)
    return found === undefined ? this.#fly(item, compute, ttl, false) : found
  }

  /** What `compute` makes, or what it is making already. */
  #fly(item, compute, ttl, isRefresh) {
    const name = nameOf(item)
    const asking = this.#tracker.current()
    let flight = this.#flights.get(name)
    if (flight === undefined || !flight.computation.stands()) {
      flight = { computation: this.#access.begin(item, isRefresh), awaited: new Set(), promise: undefined }
      flight.promise = this.#compute(flight, name, compute, ttl)
      this.#flights.set(name, flight)
    } else if (asking !== undefined && waitsFor(flight, asking)) {
      throw makeError('TWINDEX_CIRCLE', 'the computation of a value waits for that very value')
    }
    asking?.awaited.add(flight)
    return flight.promise
  }

  async #compute(flight, name, compute, ttl) {
    try {
      // Not at once, so that it finds itself when it asks for its own key.
      await undefined
      const value = await this.#tracker.run(flight, compute)
      if (value !== undefined) flight.computation.store(value, ttl)
      return value
    } finally {
      flight.awaited.clear()
      flight.computation.end()
      if (this.#flights.get(name) === flight) this.#flights.delete(name)
    }
  }

  get [Symbol.toStringTag]() {
    return 'Cache'
  }

  [INSPECT](_depth, options, inspect) {
    const { keys, values } = this.codecs
    return `Cache ${inspect({ name: this.name, size: this.size, keys, values }, options)}`
  }
}
