// Caches: pairs in a limit of memory, or so many, which may expire.

import { deserialize, serialize } from 'node:v8'
import { booleans, stageKeys, stagePairs, takeAll, takeRows } from './block.js'
import { preventClone } from './clone.js'
import { accessOf, crossing, utf8 } from './codecs.js'
import { KEY, lengths, parseObject, VALUE } from './crossing.js'
import { readPath } from './files.js'
import { listen, openInbox, unlisten, woken } from './inbox.js'
import { native } from './native.js'
import { checkOtherCopies } from './registry.js'
import { walkCache } from './scan.js'
import { checkDecimal } from './shared/amounts.js'
import { CacheLike, readCache } from './shared/cache.js'
import { labelledCodecs, labelOf, readCodecs } from './shared/codecs.js'
import { rangeError, typeError } from './shared/errors.js'
import { INTERNAL } from './shared/internal.js'
import { readCount, readOptions, readString } from './shared/options.js'
import { readTtl, readWrite } from './shared/times.js'
import { ownBytes, viewBytes } from './shared/views.js'
import { later, tracking } from './tasks.js'

const {
  compareAndSwap: nativeCompareAndSwap,
  contains: nativeContains,
  delete: nativeDelete,
  increment: nativeIncrement,
  insert: nativeInsert,
  replace: nativeReplace,
  select: nativeSelect,
  upsert: nativeUpsert,
} = native.cache

const forgotten = new FinalizationRegistry((handle) => {
  unlisten(handle)
  native.cache.free(handle)
})

const tracker = tracking()

/** What this thread computes for caches that threads share, by their names. */
const sharedFlights = new Map()

function flightsOf(name) {
  if (name === undefined) return new Map()
  if (!sharedFlights.has(name)) sharedFlights.set(name, new Map())
  return sharedFlights.get(name)
}

function readShared(name) {
  if (name === undefined) return undefined
  if (readString(name, "a shared cache's name") === '') throw rangeError("a shared cache's name is not empty")
  if (!native.hasSharedCache(name)) checkOtherCopies(name, 'hasSharedCache')
  return name
}

/** The options that are numbers, as the native half takes them. */
const numbersOf = ({ capacity, maxEntries, ttl, timeToIdle, staleFor }) => [
  ...[capacity, maxEntries, ttl, timeToIdle, staleFor],
]

const MORE = ['shared']
const read = (options, what, more) => readCache(options, what, [...MORE, ...more])

/** A new cache, or the one of this name. */
function open(options) {
  const given = read(options, 'a cache', [])
  const name = readShared(given.shared)
  const codecs = readCodecs(given)
  if (given.onEvict !== undefined) openInbox()
  const label = labelOf(codecs)
  const listens = Number(given.onEvict !== undefined)
  return describe(native.openCache(name, ...numbersOf(given), label, listens), name, given, codecs)
}

/** What the class needs to know of the cache with this number. */
function describe(handle, name, given, named) {
  try {
    const { names, keys, values } = labelledCodecs(native.cacheLabel(handle), named)
    native.cache.see(handle, Number(keys.isBytes), Number(values.isBytes))
    const codecs = { keys: crossing(keys), values: crossing(values) }
    return { handle, name, names, codecs, flights: flightsOf(name), read: given }
  } catch (error) {
    native.cache.free(handle)
    throw error
  }
}

// The last argument of the native half: whether to do it at once, or to give a promise.
const NOW = 0
const LATER_ON = 1
const LISTENS = 2

/** What loads a cache: `load(isLater)`, and `described(handle)` of what it has loaded. */
function loaderOf(source, options, more) {
  const given = read(options, 'a load', more)
  const name = readShared(given.shared)
  const codecs = readCodecs(given)
  const from = readSource(source)
  if (given.onEvict !== undefined) openInbox()
  const flags = given.onEvict === undefined ? 0 : LISTENS
  return {
    given,
    load: (isLater) => native.loadCache(from, ...numbersOf(given), name, flags + isLater),
    described: (handle) => describe(handle, name, given, codecs),
  }
}

function readSource(source) {
  if (ArrayBuffer.isView(source)) return ownBytes(viewBytes(source, 'dump'))
  if (typeof source === 'string' || source instanceof URL) return readPath(source)
  throw typeError('a cache is loaded from bytes or a path', source)
}

// --- computations: see shared/cache.js

/** What the native half says of a computation, as in src/exports/cache.rs. */
const PENDING = 0
const FOUND = 1
const FAILED = 2
const LEAD = 4

const canClone = (value) => {
  try {
    serialize(value)
    return true
  } catch {
    return false
  }
}

/** An error for other threads, with those of its own properties that can be cloned. */
function packError(error) {
  const cloned = canClone(error) ? error : new Error(String(error?.message ?? 'the computation failed'))
  return serialize([cloned, Object.fromEntries(Object.entries({ ...error }).filter(canClone))])
}

function unpackError(bytes) {
  const [error, properties] = deserialize(bytes)
  return typeof error === 'object' && error !== null ? Object.assign(error, properties) : error
}

function begin(handle, { keys, values }, item) {
  const begun = native.beginComputation(handle, keys.cross(item, KEY))
  const kind = lengths[0]
  if (kind === FOUND) return { value: values.read(begun, VALUE) }
  const end = () => native.freeComputation(begun)
  if (kind !== LEAD) return { wait: { outcome: () => outcomeOf(begun, values), end } }
  const lead = {
    stands: () => native.computationStands(begun),
    keep(value, ttl) {
      const stored = values.toItem(value, 'value')
      native.endComputation(begun, values.cross(stored, VALUE), ttl)
      end()
    },
    fail(error) {
      try {
        native.failComputation(begun, packError(error))
      } catch {
        // The error cannot be copied, so those that wait in other threads compute themselves.
      }
      end()
    },
    end,
  }
  return { lead }
}

/** How a computation of another thread ends. */
async function outcomeOf(number, values) {
  openInbox()
  try {
    for (;;) {
      const raw = native.pollComputation(number)
      const kind = lengths[0]
      if (kind === FOUND) return { value: values.read(raw, VALUE) }
      if (kind === FAILED) return { error: unpackError(raw) }
      if (kind !== PENDING) return undefined
      await woken(number)
    }
  } finally {
    native.freeComputation(number)
  }
}

export class Cache extends CacheLike {
  #handle
  #codecs
  #keys
  #values
  #areStrings
  #listens

  constructor(options, internal) {
    const opened = options === INTERNAL ? internal : open(options)
    const { handle, codecs } = opened
    const verbs = { select: nativeSelect, keep: native.cachePeek, swap: nativeCompareAndSwap }
    super(
      opened,
      {
        ...accessOf(handle, codecs, verbs),
        walk: (halves) => walkCache(this, handle, codecs, halves),
        touch: (item, ttl) => native.cache.touch(handle, codecs.keys.cross(item, KEY), ttl),
        evicted: () => (native.takeEvicted(handle) === 0 ? [] : takeRows([codecs.keys, codecs.values, utf8])),
        begin: (item) => begin(handle, codecs, item),
      },
      tracker,
    )
    preventClone(this, 'Cache')
    this.#handle = handle
    this.#codecs = codecs
    this.#keys = codecs.keys
    this.#values = codecs.values
    this.#areStrings = codecs.keys === utf8 && codecs.values === utf8
    this.#listens = opened.read.onEvict !== undefined
    forgotten.register(this, handle)
    if (this.#listens) listen(handle, this)
  }

  static loadSync(source, options) {
    const { load, described } = loaderOf(source, options, [])
    return new Cache(INTERNAL, described(load(NOW)))
  }

  static async load(source, options) {
    const { given, load, described } = loaderOf(source, options, ['signal'])
    return new Cache(INTERNAL, described(await later(given, () => load(LATER_ON), native.cache.free)))
  }

  dumpSync() {
    return native.dumpCache(this.#handle, NOW)
  }

  async dump(options) {
    return later(readOptions(options, 'a dump', ['signal']), () => native.dumpCache(this.#handle, LATER_ON))
  }

  saveSync(path) {
    native.saveCache(this.#handle, readPath(path), NOW)
  }

  async save(path, options) {
    const given = readOptions(options, 'a save', ['signal'])
    const file = readPath(path)
    return later(given, () => native.saveCache(this.#handle, file, LATER_ON))
  }

  get size() {
    return native.cache.size(this.#handle)
  }

  figures() {
    return parseObject(native.cacheFigures(this.#handle))
  }

  // --- verbs: see lib/table.js. One class of verbs for both costs 10 % of each call, as V8 learns of a function by its source.

  insert(key, value, options) {
    return this.#write(nativeInsert, key, value, options)
  }

  replace(key, value, options) {
    return this.#write(nativeReplace, key, value, options)
  }

  upsert(key, value, options) {
    return this.#write(nativeUpsert, key, value, options)
  }

  #write(write, key, value, options) {
    const ttl = readWrite(options)
    let isDone
    if (this.#areStrings) isDone = write(this.#handle, key, value, ttl)
    else {
      const item = this.#values.toItem(value, 'value')
      isDone = write(this.#handle, this.#key(key), this.#values.cross(item, VALUE), ttl)
    }
    return this.#written(isDone)
  }

  /** What a write returns, once the listener knows what it evicted. */
  #written(result) {
    if (this.#listens) this.tell()
    return result
  }

  delete(key) {
    return this.#written(nativeDelete(this.#handle, this.#key(key)))
  }

  select(key) {
    if (this.#areStrings) return nativeSelect(this.#handle, key)
    return this.#values.read(nativeSelect(this.#handle, this.#key(key)), VALUE)
  }

  peek(key) {
    return this.#values.read(native.cachePeek(this.#handle, this.#key(key)), VALUE)
  }

  contains(key) {
    return nativeContains(this.#handle, this.#key(key))
  }

  ttl(key) {
    return native.cache.ttl(this.#handle, this.#key(key))
  }

  touch(key, ttl) {
    const lifetime = readTtl(ttl)
    return this.#written(native.cache.touch(this.#handle, this.#key(key), lifetime))
  }

  increment(key, by = 1) {
    checkDecimal(this.#values)
    return this.#written(nativeIncrement(this.#handle, this.#key(key), by))
  }

  // --- verbs on many: one call of the native half for up to 256 items, and one for the verb

  insertMany(pairs, options) {
    return this.#writeMany(native.cache.insertMany, pairs, options)
  }

  replaceMany(pairs, options) {
    return this.#writeMany(native.cache.replaceMany, pairs, options)
  }

  upsertMany(pairs, options) {
    return this.#writeMany(native.cache.upsertMany, pairs, options)
  }

  #writeMany(write, pairs, options) {
    const ttl = readWrite(options)
    stagePairs(native.cache, this.#handle, this.#codecs, pairs)
    return this.#written(booleans(write(ttl)))
  }

  selectMany(keys) {
    stageKeys(native.cache, this.#handle, this.#codecs, keys)
    native.cache.selectMany()
    return takeAll(this.#values)
  }

  deleteMany(keys) {
    stageKeys(native.cache, this.#handle, this.#codecs, keys)
    return this.#written(booleans(native.cache.deleteMany()))
  }

  clear() {
    this.#written(native.cache.clear(this.#handle))
  }

  shrinkTo(capacity) {
    this.#written(native.shrinkCache(this.#handle, readCount(capacity, 'a capacity')))
  }

  /** A key as the native half takes it. */
  #key(key) {
    return this.#keys.cross(this.#keys.toItem(key, 'key'), KEY)
  }
}
