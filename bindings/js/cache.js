// What the caches of both packages share: the names of lru-cache, times, listeners, and one computation at a time.

import { untilAborted } from './abort.js'
import { makeError, rangeError } from './errors.js'
import { INSPECT } from './internal.js'
import { readBoolean, readCount, readFunction, readOptions, readSignal } from './options.js'
import { Pairs } from './table.js'
import { encodeText } from './text.js'
import { readTime, readTtl, readWrite } from './times.js'

/** What bounds a cache. Adapters take these too. */
export const BOUNDS = ['capacity', 'maxEntries', 'max', 'ttl', 'timeToIdle', 'staleFor']
const CACHE = [...BOUNDS, 'onEvict', 'keys', 'values', 'fetchMethod']
const FETCH = ['ttl', 'forceRefresh', 'signal', 'context']

/** The options of a cache. `maxEntries` and lru-cache's `max` are one. */
export function readCache(options, what, more = []) {
  const { max, maxEntries = max, ...read } = readOptions(options, what, [...CACHE, ...more])
  if (max !== undefined && !Object.is(max, maxEntries))
    throw rangeError(`${what} has max or maxEntries, not both`)
  for (const [name, size] of Object.entries({ capacity: read.capacity, maxEntries }))
    if (size !== undefined) readCount(size, name)
  for (const name of ['fetchMethod', 'onEvict']) if (read[name] !== undefined) readFunction(read[name], name)
  const ttl = readTtl(read.ttl)
  const [timeToIdle, staleFor] = ['timeToIdle', 'staleFor'].map((name) => readTime(read[name], name))
  return { ...read, maxEntries, ttl, timeToIdle, staleFor }
}

const bytesToText = new TextDecoder('latin1')
const ASCII = /^[\0-\x7f]*$/

/** A text that identifies a key of any codec among those that are being computed: of its bytes, each a character. */
function nameOf(item) {
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

/** Whether a computation waits for another one, perhaps by others between. Each is visited once: many ways may lead to it. */
function waitsFor(flight, other) {
  // A set shows also what is added meanwhile.
  const all = new Set([flight])
  for (const one of all) {
    if (one === other) return true
    for (const next of one.awaited) all.add(next)
  }
  return false
}

/**
 * For a class that has the verbs and `figures()`, which has `size`, `memory`, the options and what `stats` shows. `access` has,
 * beside what `Pairs` needs:
 *
 *   select(item)       the value, which counts as a use; `keep` does not
 *   touch(item, ttl), which tells no listener; nor does the `keep` of a lead, nor `swap`
 *   evicted()          what `onEvict` is to be told: an array of functions, each gives `[key, value, cause]`
 *   begin(item)        `{ value }`, which counts as a use, or `{ lead }` where this thread is to compute, or `{ wait }` where somebody does. A lead
 *                      `stands()` until the key is written or deleted; it ends with `keep(value, ttl)`, `fail(error)` or `end()`.
 *                      A wait has `outcome()`, a promise of `{ value }`, `{ error }` or `undefined` for none, and `end()`.
 *
 * `described.flights` has what this thread computes, for all handles of the cache. `tracker` knows which computation runs.
 */
export class CacheLike extends Pairs {
  #name
  #flights
  #fetchMethod
  #onEvict
  #access
  #values
  #tracker

  constructor(described, access, tracker = synchronous) {
    super(described, access)
    const { name, flights, read, codecs } = described
    this.#name = name
    this.#flights = flights
    this.#fetchMethod = read.fetchMethod
    this.#onEvict = read.onEvict
    this.#access = access
    this.#values = codecs.values
    this.#tracker = tracker
  }

  /** As in lru-cache, `undefined` removes the pair, and so does a value that is too large: the old one would be wrong. */
  set(key, value, options) {
    if (value === undefined || !this.upsert(key, value, options)) this.delete(key)
    return this
  }

  get capacity() {
    return this.figures().capacity
  }

  get maxEntries() {
    return this.figures().maxEntries
  }

  get max() {
    return this.maxEntries
  }

  get memory() {
    return this.figures().memory
  }

  /** The name by which threads share it, if they do. */
  get shared() {
    return this.#name
  }

  /** As in lru-cache. */
  getRemainingTTL(key) {
    return this.ttl(key) ?? 0
  }

  compareAndSwap(key, expected, value) {
    return this.#written(super.compareAndSwap(key, expected, value))
  }

  alter(key, change) {
    return this.#written(super.alter(key, change))
  }

  /** What a write returns, once the listener knows what it evicted. */
  #written(result) {
    if (this.#onEvict !== undefined) this.tell()
    return result
  }

  stats() {
    const { hits, misses, writes, evictions, expirations, rejected } = this.figures()
    return { hits, misses, writes, evictions, expirations, rejected }
  }

  // --- listeners

  /**
   * Tells `onEvict` what has gone. The host calls this after each write, and when another thread has evicted something. What the
   * listener throws goes to the caller, once all that had gone is told.
   */
  tell() {
    const onEvict = this.#onEvict
    const errors = []
    while (errors.length === 0) {
      const untold = this.#access.evicted()
      if (untold.length === 0) return
      for (const gone of untold) {
        try {
          onEvict(...gone())
        } catch (error) {
          errors.push(error)
        }
      }
    }
    if (errors.length === 1) throw errors[0]
    const [cause] = errors
    throw new AggregateError(
      errors,
      `onEvict threw ${errors.length} times, first: ${cause?.message ?? cause}`,
    )
  }

  // --- one computation at a time

  async fetch(key, options) {
    const { forceRefresh = false, signal, context, ttl } = readOptions(options, 'a fetch', FETCH)
    readBoolean(forceRefresh, 'forceRefresh')
    readSignal(signal)?.throwIfAborted()
    readTtl(ttl)
    const item = this.#access.of(key)
    const fetch = this.#fetchMethod
    if (fetch === undefined) return this.#access.select(item)
    const seen = forceRefresh ? this.#access.keep(item) : undefined
    const found = seen === undefined ? undefined : this.#values.show(seen)
    // As in lru-cache, the method sees the time to live and may set another.
    const given = { ttl }
    const compute = () => {
      given.ttl ??= this.figures().ttl
      return fetch(key, found, { signal, options: given, context })
    }
    const lifetime = () => readTtl(given.ttl)
    const isThere = seen !== undefined
    const work = isThere ? this.#refresh(item, seen, compute, lifetime) : this.#find(item, compute, lifetime)
    return untilAborted(work, signal)
  }

  async getOrCompute(key, compute, options) {
    readFunction(compute, 'compute')
    const ttl = readWrite(options)
    return this.#find(this.#access.of(key), compute, () => ttl)
  }

  /** The value of a key: what is there by now, or what `compute` makes, or what it is making already, here or in another thread. */
  async #find(item, compute, ttl) {
    for (;;) {
      const { value, lead, wait } = this.#access.begin(item)
      if (lead !== undefined) return this.#fly(lead, item, compute, ttl)
      if (wait === undefined) return value
      const own = this.#flying(item)
      if (own !== undefined) {
        wait.end()
        return this.#join(own)
      }
      const outcome = await wait.outcome()
      if (outcome === undefined) continue
      if ('error' in outcome) throw outcome.error
      return outcome.value
    }
  }

  /** Computes although there is a value: the new one replaces that, and nothing newer. */
  async #refresh(item, seen, compute, ttl) {
    const own = this.#flying(item)
    if (own !== undefined) return this.#join(own)
    const { keep, swap, touch } = this.#access
    const values = this.#values
    const lead = {
      stands: () => values.isEqual(keep(item), seen),
      keep(value, ttl) {
        const next = values.own(values.toItem(value, 'value'))
        try {
          if (swap(item, seen, next)) touch(item, ttl)
        } catch (error) {
          if (error.code !== 'TWINDEX_NO_ROOM') throw error
          // As `set` does where the new value is too large.
          swap(item, seen)
        }
      },
      fail() {},
      end() {},
    }
    return this.#fly(lead, item, compute, ttl)
  }

  /** What this thread computes for a key, unless that was written or deleted meanwhile. */
  #flying(item) {
    const flight = this.#flights.get(nameOf(item))
    return flight?.lead.stands() ? flight : undefined
  }

  async #fly(lead, item, compute, ttl) {
    const name = nameOf(item)
    const flight = { lead, awaited: new Set(), promise: undefined, isEnded: false }
    this.#flights.set(name, flight)
    flight.promise = this.#compute(flight, name, compute, ttl)
    return this.#written(await this.#join(flight))
  }

  #join(flight) {
    const asking = this.#tracker.current()
    // What a computation left running, as a connection or a timer, asks for itself once that has ended.
    if (asking === undefined || asking.isEnded) return flight.promise
    if (waitsFor(flight, asking))
      throw makeError('TWINDEX_CIRCLE', 'a computation waits for itself: it needs its own value')
    asking.awaited.add(flight)
    return flight.promise
  }

  async #compute(flight, name, compute, ttl) {
    const { lead } = flight
    try {
      // Not at once, so that it finds itself when it asks for its own key.
      await undefined
      const value = await this.#tracker.run(flight, compute)
      if (value === undefined) lead.end()
      else lead.keep(value, ttl())
      return value
    } catch (error) {
      lead.fail(error)
      throw error
    } finally {
      flight.isEnded = true
      flight.awaited.clear()
      if (this.#flights.get(name) === flight) this.#flights.delete(name)
    }
  }

  get [Symbol.toStringTag]() {
    return 'Cache'
  }

  [INSPECT](_depth, options, inspect) {
    const { keys, values } = this.codecs
    const { shared, size } = this
    const shown = shared === undefined ? { size, keys, values } : { shared, size, keys, values }
    return `Cache ${inspect(shown, options)}`
  }
}
