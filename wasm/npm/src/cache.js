// Caches: pairs of bounded size, which may expire.

import { Block } from './blocks.js'
import { placed } from './codecs.js'
import { Computations } from './computations.js'
import { ABSENT } from './core.js'
import { TableBlocks, Walk } from './iterators.js'
import { like, readAmount } from './shared/amounts.js'
import { CacheLike, needsSize, readCache, readTtl, readWrite } from './shared/cache.js'
import { DEFAULT_CODEC, readCodecs, rememberedCodecs, text } from './shared/codecs.js'
import { typeError } from './shared/errors.js'
import { INTERNAL } from './shared/internal.js'
import { PAIRS } from './shared/table.js'
import { viewBytes } from './shared/views.js'
import { putBytes, putText, putTexts } from './text.js'

/** The verbs of `twindex_cache_write`. */
const [INSERT, REPLACE, UPSERT] = [0, 1, 2]
/** Stands for the time to live of the cache. */
const OWN_TTL = -1
/** What `new Cache()` has for values, unless told: lru-cache's users put objects there. */
const OWN_VALUES = 'msgpack'
const OWN_NAME = 'cache'
const NO_LIMIT = 2n ** 64n - 1n

const FIGURES = [
  'size',
  'memory',
  'max',
  'maxSize',
  'ttl',
  'hits',
  'misses',
  'writes',
  'evictions',
  'expirations',
]

const names = { keys: placed(text), values: placed(text) }

/** Opens the cache of this name in a store, by the store's handle. */
function open(core, store, name, { max = 0, maxSize = 0, ttl = OWN_TTL, ...named }) {
  const { twindex_cache, twindex_codecs, twindex_close } = core.exports
  const isNew = max > 0 || maxSize > 0
  const codec = (given) => given?.name ?? (isNew ? DEFAULT_CODEC : '')
  const places = (keys, values) =>
    putTexts(core, { "cache's name": name, 'codec of the keys': keys, 'codec of the values': values })
  core.tick()
  // One that is there keeps its codecs where none are named.
  let handle = core.status(
    twindex_cache(store, ...places(named.keys?.name ?? '', named.values?.name ?? ''), 0, 0, OWN_TTL),
  )
  if (handle === 0) {
    if (!isNew) throw needsSize()
    handle = core.status(
      twindex_cache(store, ...places(codec(named.keys), codec(named.values)), max, maxSize, ttl),
    )
  }
  try {
    core.status(twindex_codecs(handle))
    const remembered = new Block(core).pair(names, PAIRS)
    const { keys, values } = rememberedCodecs(name, named, remembered)
    return { handle, name, names: remembered, codecs: { keys: placed(keys), values: placed(values) } }
  } catch (error) {
    twindex_close(handle)
    throw error
  }
}

/** Loads a cache from bytes into a store, and opens it. */
function load(core, store, name, source, { max = 0, maxSize = 0, ttl = OWN_TTL, keys, values }) {
  if (!ArrayBuffer.isView(source)) throw typeError('a cache is loaded from bytes', source)
  const { twindex_cache_load, twindex_close, twindex_drop_cache } = core.exports
  const bytes = viewBytes(source, 'dump')
  const place = () => putText(core, 0, name, "cache's name")
  const length = place()
  core.tick()
  const dumpLength = putBytes(core, length, bytes)
  const { input } = core
  const sizes = [max, maxSize, ttl]
  const handle = core.status(twindex_cache_load(store, input, length, input + length, dumpLength, ...sizes))
  try {
    // Has its codecs compared with those that were named.
    return open(core, store, name, { keys, values })
  } catch (error) {
    core.status(twindex_drop_cache(store, core.input, place()))
    throw error
  } finally {
    twindex_close(handle)
  }
}

/** A cache from bytes, in a store of its own. */
function loadOwn(core, source, options) {
  const read = readLoad(options)
  const own = core.status(core.exports.twindex_store_new(NO_LIMIT))
  try {
    return { ...load(core, own, OWN_NAME, source, read), own, computations: new Computations(), read }
  } catch (error) {
    core.exports.twindex_close(own)
    throw error
  }
}

function readLoad(options) {
  const read = readCache(options, 'a load')
  return { ...read, ...readCodecs(read) }
}

/** A cache in a store of its own. */
function openOwn(core, options) {
  const read = readCache(options, 'a cache')
  const own = core.status(core.exports.twindex_store_new(NO_LIMIT))
  try {
    const codecs = readCodecs({ keys: read.keys, values: read.values ?? OWN_VALUES })
    return {
      ...open(core, own, OWN_NAME, { ...read, ...codecs }),
      own,
      computations: new Computations(),
      read,
    }
  } catch (error) {
    core.exports.twindex_close(own)
    throw error
  }
}

/** What the caches of all instances of the module are. */
class BaseCache extends CacheLike {
  #core
  #handle
  #codecs
  #keys
  #values
  #computations

  constructor(core, store, opened) {
    const { handle, own, codecs, computations } = opened
    super(
      store,
      { ...opened, flights: computations.flights },
      {
        of: (key) => codecs.keys.own(codecs.keys.toItem(key, 'key')),
        select: (item) => this.#read(this.#callWith(core.exports.twindex_select, item)),
        keep: (item) => this.#keep(item),
        swap: (item, seen, next) => this.#swap(item, seen, next),
        walk: (halves) => this.#walk(halves),
        begin: (item) =>
          computations.begin(item, (value, ttl = OWN_TTL) =>
            this.#put(UPSERT, item, codecs.values.toItem(value, 'value'), ttl),
          ),
      },
    )
    this.#core = core
    this.#handle = handle
    this.#codecs = codecs
    this.#keys = codecs.keys
    this.#values = codecs.values
    this.#computations = computations
    // With a store of its own, the cache closes too.
    core.forgotten.register(this, own ?? handle)
  }

  async dump() {
    return this.dumpSync()
  }

  dumpSync() {
    this.#core.tick()
    this.#core.status(this.#core.exports.twindex_cache_dump(this.#handle))
    return this.#core.answerBytes()
  }

  get size() {
    this.#core.status(this.#core.exports.twindex_len(this.#handle))
    return this.#core.answerCount
  }

  figures() {
    const core = this.#core
    core.status(core.exports.twindex_cache_figures(this.#handle))
    const figure = (at) => Number(core.view.getBigInt64(core.answerAt + 8 * at, true))
    return Object.fromEntries(FIGURES.map((name, at) => [name, figure(at) < 0 ? undefined : figure(at)]))
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
    const ttl = readWrite(options) ?? OWN_TTL
    const keyItem = this.#keys.toItem(key, 'key')
    return this.#put(verb, keyItem, this.#values.toItem(value, 'value'), ttl)
  }

  #put(verb, keyItem, valueItem, ttl) {
    const core = this.#core
    core.tick()
    const k = this.#keys.write(core, 0, keyItem, 'key')
    const v = this.#values.write(core, k, valueItem, 'value')
    const status = core.exports.twindex_cache_write(this.#handle, verb, core.input, k, core.input + k, v, ttl)
    const isDone = core.status(status) === 1
    if (isDone) this.#computations.changed(keyItem)
    return isDone
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
    const item = this.#keys.toItem(key, 'key')
    // Also where there is nothing yet: what is computed is older than this.
    this.#computations.changed(item)
    return this.#callWith(this.#core.exports.twindex_delete, item) === 1
  }

  select(key) {
    return this.#read(this.#call(this.#core.exports.twindex_select, key))
  }

  peek(key) {
    return this.#read(this.#call(this.#core.exports.twindex_cache_peek, key))
  }

  #read(status) {
    const core = this.#core
    return status === 0 ? undefined : this.#values.read(core.bytes, core.answerAt, core.answerLength, 'value')
  }

  contains(key) {
    return this.#call(this.#core.exports.twindex_contains, key) === 1
  }

  getRemainingTTL(key) {
    if (this.#call(this.#core.exports.twindex_cache_ttl, key) === 0) return 0
    const left = Number(this.#core.answerInteger)
    return left < 0 ? Number.POSITIVE_INFINITY : left
  }

  touch(key, ttl) {
    const lifetime = readTtl(ttl) ?? OWN_TTL
    return this.#call(this.#core.exports.twindex_cache_touch, key, lifetime) === 1
  }

  increment(key, by = 1) {
    const item = this.#keys.toItem(key, 'key')
    this.#callWith(this.#core.exports.twindex_increment, item, readAmount(by))
    this.#computations.changed(item)
    return like(by, this.#core.answerInteger)
  }

  #keep(item) {
    const core = this.#core
    if (this.#callWith(core.exports.twindex_select, item) === 0) return undefined
    return this.#values.keep(core.bytes, core.answerAt, core.answerLength, 'value')
  }

  #swap(key, expected, value) {
    const core = this.#core
    const put = (item, offset) => (item === undefined ? 0 : this.#values.write(core, offset, item, 'value'))
    core.tick()
    const k = this.#keys.write(core, 0, key, 'key')
    const e = put(expected, k)
    const v = put(value, k + e)
    const lengthOf = (item, length) => (item === undefined ? ABSENT : length)
    const status = core.exports.twindex_compare_and_swap(
      ...[this.#handle, core.input, k],
      ...[core.input + k, lengthOf(expected, e)],
      ...[core.input + k + e, lengthOf(value, v)],
    )
    const isDone = core.status(status) === 1
    if (isDone) this.#computations.changed(key)
    return isDone
  }

  clear() {
    this.#computations.changed()
    this.#core.status(this.#core.exports.twindex_clear(this.#handle))
  }

  #walk(want) {
    this.#core.tick()
    return new Walk(this, new TableBlocks(this.#core, this.#handle), this.#codecs, want)
  }
}

/** The class of the caches of one instance of the module. */
export function cacheClass(core) {
  return class Cache extends BaseCache {
    constructor(options, store, opened = openOwn(core, options)) {
      super(core, options === INTERNAL ? store : undefined, opened)
    }

    static async load(source, options) {
      return Cache.loadSync(source, options)
    }

    static loadSync(source, options) {
      return new Cache(INTERNAL, undefined, loadOwn(core, source, options))
    }
  }
}

/** What is being computed for the cache of this name. */
function computationsOf(all, name) {
  if (!all.has(name)) all.set(name, new Computations())
  return all.get(name)
}

/** What is being computed for a cache that was dropped is not for another one of its name. */
export function dropComputations(all, name) {
  all.get(name)?.changed()
  all.delete(name)
}

/** The cache of this name in a store. `all` has what is being computed, by name of the cache. */
export function openCache(Cache, core, store, handle, name, options, all) {
  const read = readCache(options, 'a cache')
  const opened = open(core, handle, name, { ...read, ...readCodecs(read) })
  return new Cache(INTERNAL, store, { ...opened, computations: computationsOf(all, name), read })
}

/** The cache that is in these bytes, loaded into a store under this name. */
export function loadCache(Cache, core, store, handle, name, source, options, all) {
  const read = readLoad(options)
  const opened = load(core, handle, name, source, read)
  return new Cache(INTERNAL, store, { ...opened, computations: computationsOf(all, name), read })
}
