// Caches: pairs of bounded size, which may expire.

import { AsyncLocalStorage } from 'node:async_hooks'
import { accessOf } from './access.js'
import { takeAll } from './block.js'
import { dump, dumpSync, loaderOf, save, saveSync } from './cache-files.js'
import { preventClone } from './clone.js'
import { crossing, utf8 } from './codecs.js'
import { KEY, parseObject, VALUE } from './crossing.js'
import { booleans, stageKeys, stagePairs } from './many.js'
import { native } from './native.js'
import { CacheLike, needsSize, readCache, readTtl, readWrite } from './shared/cache.js'
import { DEFAULT_CODEC, readCodecs, rememberedCodecs } from './shared/codecs.js'
import { INTERNAL } from './shared/internal.js'
import { walkCache } from './walk.js'

const {
  clear: nativeClear,
  compareAndSwap: nativeCompareAndSwap,
  contains: nativeContains,
  delete: nativeDelete,
  deleteMany: nativeDeleteMany,
  free: nativeFree,
  increment: nativeIncrement,
  insert: nativeInsert,
  replace: nativeReplace,
  select: nativeSelect,
  selectMany: nativeSelectMany,
  size: nativeSize,
  upsert: nativeUpsert,
  upsertMany: nativeUpsertMany,
} = native.cache

/** Of a cache's own store that number too. */
const forgotten = new FinalizationRegistry(({ handle, own }) => {
  nativeFree(handle)
  if (own !== undefined) native.freeStore(own)
})

/** Which computation is running, also after it has waited. While it is in use, every promise of the thread costs more. */
const running = new AsyncLocalStorage()
let computing = 0
const tracker = {
  current: () => (computing === 0 ? undefined : running.getStore()),
  async run(flight, compute) {
    computing++
    try {
      return await running.run(flight, compute)
    } finally {
      if (--computing === 0) running.disable()
    }
  },
}

/** What `new Cache()` has for values, unless told: lru-cache's users put objects there. */
const OWN_VALUES = 'msgpack'
const OWN_NAME = 'cache'

/** Opens the cache of this name in a store, by the store's number. */
function open(store, name, { max, maxSize, ttl, ...named }) {
  const { keys: namedKeys, values: namedValues } = named
  const handle = native.openCache(
    ...[store, name, maxSize, max, ttl, namedKeys?.name, namedValues?.name, DEFAULT_CODEC],
  )
  if (handle === undefined) throw needsSize()
  try {
    const names = takeAll(utf8)
    const { keys, values } = rememberedCodecs(name, named, names)
    native.cache.see(handle, Number(keys.isBytes), Number(values.isBytes))
    return { handle, name, names, codecs: { keys: crossing(keys), values: crossing(values) } }
  } catch (error) {
    nativeFree(handle)
    throw error
  }
}

/** A cache in a store of its own. */
function openOwn(options) {
  const read = readCache(options, 'a cache')
  const own = native.openStore()
  try {
    const codecs = readCodecs({ keys: read.keys, values: read.values ?? OWN_VALUES })
    return { ...open(own, OWN_NAME, { ...read, ...codecs }), own, flights: new Map(), read }
  } catch (error) {
    native.freeStore(own)
    throw error
  }
}

/** Opens the cache of this name, which was just loaded into a store. */
function openLoaded(store, name, { keys, values }) {
  try {
    return open(store, name, { keys, values })
  } catch (error) {
    native.dropCache(store, name)
    throw error
  }
}

/** What loads a cache into a store of its own: `load.now()` or `load.later()`, then `opened()`. `free` is for what fails. */
function loadOwn(source, read) {
  const own = native.openStore()
  const free = () => native.freeStore(own)
  try {
    const load = loaderOf(own, OWN_NAME, source, read)
    return {
      load,
      opened: () => ({ ...openLoaded(own, OWN_NAME, read), own, flights: new Map(), read }),
      free,
    }
  } catch (error) {
    free()
    throw error
  }
}

const readLoad = (options, more) => {
  const read = readCache(options, 'a load', more)
  return { ...read, ...readCodecs(read) }
}

/** A computation of the cache's: see shared/cache.js. */
function begin(handle, { keys, values }, item, isRefresh) {
  const number = native.beginComputation(handle, keys.cross(item, KEY), Number(isRefresh))
  return {
    stands: () => native.computationStands(number),
    store: (value, ttl) => {
      const stored = values.toItem(value, 'value')
      native.storeComputed(number, values.cross(stored, VALUE), ttl)
    },
    end: () => native.freeComputation(number),
  }
}

export class Cache extends CacheLike {
  #handle
  #codecs
  #keys
  #values
  #areStrings

  constructor(options, store, opened = openOwn(options)) {
    const { handle, own, codecs } = opened
    const verbs = { select: nativeSelect, swap: nativeCompareAndSwap, walk: (halves) => this.#walk(halves) }
    const access = {
      ...accessOf(handle, codecs, verbs),
      begin: (item, isRefresh) => begin(handle, codecs, item, isRefresh),
    }
    super(options === INTERNAL ? store : undefined, opened, access, tracker)
    preventClone(this, 'Cache')
    this.#handle = handle
    this.#codecs = codecs
    this.#keys = codecs.keys
    this.#values = codecs.values
    this.#areStrings = codecs.keys === utf8 && codecs.values === utf8
    forgotten.register(this, { handle, own })
  }

  static loadSync(source, options) {
    const { load, opened, free } = loadOwn(source, readLoad(options))
    try {
      load.now()
      return new Cache(INTERNAL, undefined, opened())
    } catch (error) {
      free()
      throw error
    }
  }

  static async load(source, options) {
    const { load, opened, free } = loadOwn(source, readLoad(options, ['signal']))
    try {
      await load.later()
      return new Cache(INTERNAL, undefined, opened())
    } catch (error) {
      free()
      throw error
    }
  }

  dumpSync() {
    return dumpSync(this.#handle)
  }

  dump(options) {
    return dump(this.#handle, options)
  }

  saveSync(path) {
    saveSync(this.#handle, path)
  }

  save(path, options) {
    return save(this.#handle, path, options)
  }

  get size() {
    return nativeSize(this.#handle)
  }

  figures() {
    return parseObject(native.cacheFigures(this.#handle))
  }

  // --- verbs: see lib/table.js

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
    if (this.#areStrings) return write(this.#handle, key, value, ttl)
    const item = this.#values.toItem(value, 'value')
    return write(this.#handle, this.#key(key), this.#values.cross(item, VALUE), ttl)
  }

  delete(key) {
    return nativeDelete(this.#handle, this.#key(key))
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

  getRemainingTTL(key) {
    return native.cacheTtl(this.#handle, this.#key(key))
  }

  touch(key, ttl) {
    const lifetime = readTtl(ttl)
    return native.cacheTouch(this.#handle, this.#key(key), lifetime)
  }

  increment(key, by = 1) {
    return nativeIncrement(this.#handle, this.#key(key), by)
  }

  // --- verbs on many: one call of the native half for up to 256 items, and one for the verb

  upsertMany(pairs, options) {
    const ttl = readWrite(options)
    stagePairs(native.cache, this.#handle, this.#codecs, pairs)
    return booleans(nativeUpsertMany(ttl))
  }

  selectMany(keys) {
    stageKeys(native.cache, this.#handle, this.#codecs, keys)
    nativeSelectMany()
    return takeAll(this.#values)
  }

  deleteMany(keys) {
    stageKeys(native.cache, this.#handle, this.#codecs, keys)
    return booleans(nativeDeleteMany())
  }

  clear() {
    nativeClear(this.#handle)
  }

  /** A key as the native half takes it. */
  #key(key) {
    return this.#keys.cross(this.#keys.toItem(key, 'key'), KEY)
  }

  #walk(halves) {
    return walkCache(this, this.#handle, this.#codecs, halves)
  }
}

/** What this thread computes for the cache of this name, by all its handles of a store. */
function flightsOf(flights, name) {
  if (!flights.has(name)) flights.set(name, new Map())
  return flights.get(name)
}

/** The cache of this name in a store. `flights` has what is being computed, by name of the cache. */
export function openCache(store, handle, name, options, flights) {
  const read = readCache(options, 'a cache')
  const opened = open(handle, name, { ...read, ...readCodecs(read) })
  return new Cache(INTERNAL, store, { ...opened, flights: flightsOf(flights, name), read })
}

function openInStore(store, handle, name, read, flights) {
  const opened = openLoaded(handle, name, read)
  return new Cache(INTERNAL, store, { ...opened, flights: flightsOf(flights, name), read })
}

/** Loads a cache into a store. */
export function loadCacheSync(store, handle, name, source, options, flights) {
  const read = readLoad(options)
  loaderOf(handle, name, source, read).now()
  return openInStore(store, handle, name, read, flights)
}

/** The same, as a promise. */
export async function loadCache(store, handle, name, source, options, flights) {
  const read = readLoad(options, ['signal'])
  const drop = () => {
    // The store is kept until here, as its number would be another's once it is collected.
    if (!store.closed) native.dropCache(handle, name)
  }
  await loaderOf(handle, name, source, read).later(drop)
  return openInStore(store, handle, name, read, flights)
}
