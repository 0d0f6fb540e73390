// Caches: pairs in a limit of memory, or so many, which may expire.

import { Block, readKeys, readPairs } from './blocks.js'
import { placed } from './codecs.js'
import { TableBlocks, Walk } from './iterators.js'
import { leftOut } from './leftout.js'
import { checkDecimal, like, readAmount } from './shared/amounts.js'
import { CacheLike, readCache } from './shared/cache.js'
import { labelledCodecs, labelOf, readCodecs } from './shared/codecs.js'
import { typeError } from './shared/errors.js'
import { INTERNAL } from './shared/internal.js'
import { readCount } from './shared/options.js'
import { readTtl, readWrite } from './shared/times.js'
import { viewBytes } from './shared/views.js'
import { putSwap } from './table.js'
import { putBytes } from './text.js'

/** The verbs of `twindex_cache_write`. */
const [INSERT, REPLACE, UPSERT] = [0, 1, 2]
/** Stands for no time, and for the time to live of the cache. */
const NO_TIME = -1
/** Stands for no capacity. */
const NO_LIMIT = -1n
/** Why a pair was evicted, by number. */
const CAUSES = ['size', 'expired']

const FIGURES = [
  ...['size', 'memory', 'capacity', 'maxEntries', 'ttl', 'timeToIdle', 'staleFor'],
  ...['hits', 'misses', 'writes', 'evictions', 'expirations', 'rejected'],
]

const bytesToText = new TextDecoder('latin1')

/** A key of a map, for an item of a cache's codec. */
const nameOf = (item) => (typeof item === 'string' ? item : bytesToText.decode(item))

const limit = (limit) => (limit === undefined ? NO_LIMIT : BigInt(limit))

/** The options that are numbers, as the module takes them. */
const numbersOf = ({ capacity, maxEntries, ttl, timeToIdle, staleFor }) => [
  ...[limit(capacity), limit(maxEntries)],
  ...[ttl ?? NO_TIME, timeToIdle ?? NO_TIME, staleFor ?? NO_TIME],
]

/** Fails where the module is one without caches. */
function checkCaches(core) {
  if (core.exports.twindex_cache_new === undefined) throw leftOut('caches')
}

/** Opens a cache by what `make` gives of the module: what the class needs to know of it. `put` writes the bytes that this takes. */
function openWith(core, options, what, put, make) {
  checkCaches(core)
  const read = readCache(options, what)
  const named = readCodecs(read)
  core.seed()
  const length = putBytes(core, 0, put(named))
  core.tick()
  const handle = core.status(make(core.exports, length, numbersOf(read), Number(read.onEvict !== undefined)))
  try {
    core.status(core.exports.twindex_cache_label(handle))
    const { names, keys, values } = labelledCodecs(core.answerBytes(), named)
    const codecs = { keys: placed(keys), values: placed(values) }
    return { handle, names, codecs, flights: new Map(), read }
  } catch (error) {
    core.exports.twindex_close(handle)
    throw error
  }
}

const open = (core, options) =>
  openWith(core, options, 'a cache', labelOf, ({ twindex_cache_new }, length, numbers, listens) =>
    twindex_cache_new(...numbers, core.input, length, listens),
  )

/** A cache from the bytes of a saved one. */
function load(core, source, options) {
  const put = () => {
    if (!ArrayBuffer.isView(source)) throw typeError('a cache is loaded from bytes', source)
    return viewBytes(source, 'dump')
  }
  return openWith(core, options, 'a load', put, ({ twindex_cache_load }, length, numbers, listens) =>
    twindex_cache_load(core.input, length, ...numbers, listens),
  )
}

/** What the caches of all instances of the module are. */
class BaseCache extends CacheLike {
  #core
  #handle
  #codecs
  #keys
  #values
  #listens
  /** Running computations whose result may still be cached, by name of the key. */
  #leads = new Map()

  constructor(core, opened) {
    const { handle, codecs, read } = opened
    super(opened, {
      of: (key) => codecs.keys.own(codecs.keys.toItem(key, 'key')),
      select: (item) => this.#read(this.#callWith(core.exports.twindex_select, item)),
      keep: (item) => this.#keep(item),
      swap: (item, seen, next) => this.#swap(item, seen, next),
      touch: (item, ttl = NO_TIME) => this.#callWith(core.exports.twindex_touch, item, ttl) === 1,
      walk: (halves) => this.#walk(halves),
      evicted: () => this.#evicted(),
      begin: (item) => this.#begin(item),
    })
    this.#core = core
    this.#handle = handle
    this.#codecs = codecs
    this.#keys = codecs.keys
    this.#values = codecs.values
    this.#listens = read.onEvict !== undefined
    core.forgotten.register(this, handle)
  }

  async dump() {
    return this.dumpSync()
  }

  dumpSync() {
    this.#core.tick()
    this.#core.status(this.#core.exports.twindex_cache_save(this.#handle))
    return this.#core.answerBytes()
  }

  get size() {
    this.#core.status(this.#core.exports.twindex_len(this.#handle))
    return this.#core.answerCount
  }

  figures() {
    this.#core.status(this.#core.exports.twindex_cache_stats(this.#handle))
    const figures = this.#core.answerFigures().map((figure) => (figure < 0 ? undefined : figure))
    return Object.fromEntries(FIGURES.map((name, at) => [name, figures[at]]))
  }

  // --- verbs: see table.js

  insert(key, value, options) {
    return this.#write(INSERT, key, value, options)
  }

  replace(key, value, options) {
    return this.#write(REPLACE, key, value, options)
  }

  upsert(key, value, options) {
    return this.#write(UPSERT, key, value, options)
  }

  #write(verb, key, value, options) {
    const ttl = readWrite(options)
    const keyItem = this.#keys.toItem(key, 'key')
    return this.#told(this.#put(verb, keyItem, this.#values.toItem(value, 'value'), ttl))
  }

  #put(verb, keyItem, valueItem, ttl = NO_TIME) {
    const core = this.#core
    core.tick()
    const k = this.#keys.write(core, 0, keyItem, 'key')
    const v = this.#values.write(core, k, valueItem, 'value')
    const status = core.exports.twindex_cache_write(this.#handle, verb, core.input, k, core.input + k, v, ttl)
    return this.#written(keyItem, core.status(status) === 1)
  }

  /** Ends a write that took effect or not: what is computed meanwhile is older. */
  #written(item, isDone) {
    if (isDone && this.#leads.size > 0) this.#leads.delete(nameOf(item))
    return isDone
  }

  /** What a call returns, once the listener knows what it evicted or found expired. */
  #told(result) {
    if (this.#listens) this.tell()
    return result
  }

  /** Calls a verb on one key; the status. */
  #call(verb, key, ...rest) {
    return this.#callWith(verb, this.#keys.toItem(key, 'key'), ...rest)
  }

  #callWith(verb, item, ...rest) {
    const core = this.#core
    core.tick()
    const length = this.#keys.write(core, 0, item, 'key')
    return core.status(verb(this.#handle, core.input, length, ...rest))
  }

  delete(key) {
    return this.#told(this.#remove(this.#keys.toItem(key, 'key')))
  }

  #remove(item) {
    const isDone = this.#callWith(this.#core.exports.twindex_delete, item) === 1
    // Also where there is nothing yet: what is computed is older than this.
    this.#written(item, true)
    return isDone
  }

  select(key) {
    return this.#told(this.#read(this.#call(this.#core.exports.twindex_select, key)))
  }

  peek(key) {
    return this.#read(this.#call(this.#core.exports.twindex_cache_peek, key, 0))
  }

  #read(status) {
    const core = this.#core
    return status === 0 ? undefined : this.#values.read(core.bytes, core.answerAt, core.answerLength, 'value')
  }

  contains(key) {
    return this.#call(this.#core.exports.twindex_contains, key) === 1
  }

  ttl(key) {
    if (this.#call(this.#core.exports.twindex_ttl, key) === 0) return undefined
    const left = Number(this.#core.answerInteger)
    return left < 0 ? Number.POSITIVE_INFINITY : left
  }

  touch(key, ttl) {
    const lifetime = readTtl(ttl) ?? NO_TIME
    return this.#told(this.#call(this.#core.exports.twindex_touch, key, lifetime) === 1)
  }

  increment(key, by = 1) {
    checkDecimal(this.#values)
    const item = this.#keys.toItem(key, 'key')
    this.#callWith(this.#core.exports.twindex_increment, item, readAmount(by))
    const sum = like(by, this.#core.answerInteger)
    this.#written(item, true)
    return this.#told(sum)
  }

  #keep(item) {
    const core = this.#core
    if (this.#callWith(core.exports.twindex_cache_peek, item, 0) === 0) return undefined
    return this.#values.keep(core.bytes, core.answerAt, core.answerLength, 'value')
  }

  #swap(key, ...items) {
    const core = this.#core
    core.tick()
    const given = putSwap(core, this.#codecs, key, ...items)
    return this.#written(
      key,
      core.status(core.exports.twindex_compare_and_swap(this.#handle, ...given)) === 1,
    )
  }

  // --- verbs on many, whose arguments are all read before the first write, and whose listener is told after the last

  insertMany(pairs, options) {
    return this.#writeMany(INSERT, pairs, options)
  }

  replaceMany(pairs, options) {
    return this.#writeMany(REPLACE, pairs, options)
  }

  upsertMany(pairs, options) {
    return this.#writeMany(UPSERT, pairs, options)
  }

  #writeMany(verb, pairs, options) {
    const ttl = readWrite(options)
    const items = readPairs(this.#codecs, pairs)
    const put = (_, at) => this.#put(verb, items[2 * at], items[2 * at + 1], ttl)
    return this.#told(Array.from({ length: items.length / 2 }, put))
  }

  selectMany(keys) {
    const { twindex_select } = this.#core.exports
    const items = readKeys(this.#codecs, keys)
    return this.#told(items.map((item) => this.#read(this.#callWith(twindex_select, item))))
  }

  deleteMany(keys) {
    return this.#told(readKeys(this.#codecs, keys).map((item) => this.#remove(item)))
  }

  clear() {
    this.#leads.clear()
    this.#told(this.#core.status(this.#core.exports.twindex_clear(this.#handle)))
  }

  shrinkTo(capacity) {
    const bytes = BigInt(readCount(capacity, 'a capacity'))
    this.#told(this.#core.status(this.#core.exports.twindex_cache_shrink(this.#handle, bytes)))
  }

  #walk(want) {
    this.#core.tick()
    return new Walk(this, new TableBlocks(this.#core, this.#handle), this.#codecs, want)
  }

  /** What `onEvict` is to be told. */
  #evicted() {
    this.#core.status(this.#core.exports.twindex_cache_evicted(this.#handle))
    const block = new Block(this.#core)
    const evicted = []
    while (!block.isEmpty) {
      const cause = CAUSES[block.length()]
      const [, key, value] = block.deferred(this.#codecs)
      evicted.push(() => [key(), value(), cause])
    }
    return evicted
  }

  /** A value that is there, or a computation of it: see shared/cache.js. */
  #begin(item) {
    const value = this.#read(this.#callWith(this.#core.exports.twindex_select, item))
    if (value !== undefined) return { value }
    const name = nameOf(item)
    if (this.#leads.has(name)) {
      const stale = this.#read(this.#callWith(this.#core.exports.twindex_cache_peek, item, 1))
      return stale === undefined ? { wait: { outcome: async () => undefined, end() {} } } : { value: stale }
    }
    const lead = {
      stands: () => this.#leads.get(name) === lead,
      keep: (value, ttl) => {
        const valueItem = this.#values.toItem(value, 'value')
        if (!lead.stands()) return
        lead.end()
        this.#put(UPSERT, item, valueItem, ttl)
      },
      fail: () => lead.end(),
      end: () => {
        if (lead.stands()) this.#leads.delete(name)
      },
    }
    this.#leads.set(name, lead)
    return { lead }
  }
}

/** The class of the caches of one instance of the module. */
export function cacheClass(core) {
  return class Cache extends BaseCache {
    constructor(options, opened = open(core, options)) {
      super(core, opened)
    }

    static async load(source, options) {
      return Cache.loadSync(source, options)
    }

    static loadSync(source, options) {
      return new Cache(INTERNAL, load(core, source, options))
    }
  }
}
