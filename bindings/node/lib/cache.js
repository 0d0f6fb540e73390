// Caches: pairs of bounded size, which may expire.

import { takeAll } from './block.js'
import { preventClone } from './clone.js'
import { crossing, utf8 } from './codecs.js'
import { EXPECTED, KEY, VALUE } from './crossing.js'
import { booleans, stageCachedKeys, stageCachedPairs, takeSums } from './many.js'
import { native } from './native.js'
import { dump, dumpSync, loaderOf, save, saveSync } from './saved.js'
import { CacheLike, nameOf, needsSize, readCache, readTtl, readWrite } from './shared/cache.js'
import { DEFAULT_CODEC, readCodecs, rememberedCodecs } from './shared/codecs.js'
import { INTERNAL } from './shared/internal.js'
import { alter } from './shared/table.js'
import { KEYS, PAIRS, VALUES, walkCache } from './walk.js'

const {
  cacheContains: nativeContains,
  cacheFigures: nativeFigures,
  cacheIncrement: nativeIncrement,
  cacheInsert: nativeInsert,
  cachePeek: nativePeek,
  cacheReplace: nativeReplace,
  cacheSelect: nativeSelect,
  cacheSelectMany: nativeSelectMany,
  cacheSize: nativeSize,
  cacheSwap: nativeSwap,
  cacheTouch: nativeTouch,
  cacheTtl: nativeTtl,
  cacheUpsert: nativeUpsert,
  cacheUpsertMany: nativeUpsertMany,
  clearCache: nativeClear,
  deleteCached: nativeDelete,
  deleteManyCached: nativeDeleteMany,
} = native

/** Of a cache's own store that number too. */
const forgotten = new FinalizationRegistry(({ handle, own }) => {
  native.freeCache(handle)
  if (own !== undefined) native.freeStore(own)
})

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
    native.seeCache(handle, Number(keys.isBytes), Number(values.isBytes))
    return { handle, name, names, codecs: { keys: crossing(keys), values: crossing(values) } }
  } catch (error) {
    native.freeCache(handle)
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

export class Cache extends CacheLike {
  #handle
  #store
  #name
  #names
  #codecs
  #keys
  #values
  #areStrings

  constructor(options, store, opened = openOwn(options)) {
    const { handle, own, name, names, codecs, flights, read } = opened
    super(flights, read.fetchMethod)
    preventClone(this, 'Cache')
    this.#handle = handle
    this.#store = options === INTERNAL ? store : undefined
    this.#name = name
    this.#names = names
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

  get store() {
    return this.#store
  }

  get name() {
    return this.#name
  }

  get codecs() {
    const [keys, values] = this.#names
    return { keys, values }
  }

  get size() {
    return nativeSize(this.#handle)
  }

  figures() {
    nativeFigures(this.#handle)
    const all = takeSums().map((figure) => (figure < 0 ? undefined : figure))
    const [size, memory, max, maxSize, ttl, hits, misses, writes, evictions, expirations] = all
    return { size, memory, max, maxSize, ttl, hits, misses, writes, evictions, expirations }
  }

  keyItem(key) {
    return this.#keys.toItem(key, 'key')
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
    if (this.#areStrings) {
      this.landed(key)
      return write(this.#handle, key, value, ttl)
    }
    const item = this.#values.toItem(value, 'value')
    const name = this.#keys.toItem(key, 'key')
    this.landed(name)
    return write(this.#handle, this.#keys.cross(name, KEY), this.#values.cross(item, VALUE), ttl)
  }

  delete(key) {
    const name = this.#keys.toItem(key, 'key')
    this.landed(name)
    return nativeDelete(this.#handle, this.#keys.cross(name, KEY))
  }

  select(key) {
    if (this.#areStrings) return nativeSelect(this.#handle, key)
    return this.#values.read(nativeSelect(this.#handle, this.#key(key)), VALUE)
  }

  peek(key) {
    return this.#values.read(nativePeek(this.#handle, this.#key(key)), VALUE)
  }

  contains(key) {
    return nativeContains(this.#handle, this.#key(key))
  }

  getRemainingTTL(key) {
    return nativeTtl(this.#handle, this.#key(key))
  }

  touch(key, ttl) {
    const lifetime = readTtl(ttl)
    return nativeTouch(this.#handle, this.#key(key), lifetime)
  }

  increment(key, by = 1) {
    return nativeIncrement(this.#handle, this.#key(key), by)
  }

  compareAndSwap(key, expected, value) {
    const values = this.#values
    const pack = (wanted) => (values.isNone(wanted) ? undefined : values.own(values.toItem(wanted, 'value')))
    const [before, after] = [pack(expected), pack(value)]
    return this.#swap(this.#keys.toItem(key, 'key'), before, after)
  }

  alter(key, change) {
    const keys = this.#keys
    const item = keys.own(keys.toItem(key, 'key'))
    const keep = () => this.#values.keep(nativeSelect(this.#handle, keys.cross(item, KEY)), VALUE)
    return alter(this.#values, change, keep, (seen, next) => this.#swap(item, seen, next))
  }

  #swap(name, expected, next) {
    const cross = (item, region) => (item === undefined ? undefined : this.#values.cross(item, region))
    const [before, crossed] = [cross(expected, EXPECTED), this.#keys.cross(name, KEY)]
    return nativeSwap(this.#handle, crossed, before, cross(next, VALUE))
  }

  // --- verbs on many: one call of the native half for up to 256 items, and one for the verb

  upsertMany(pairs, options) {
    const ttl = readWrite(options)
    this.#stageWrite(stageCachedPairs, pairs)
    return booleans(nativeUpsertMany(ttl))
  }

  selectMany(keys) {
    stageCachedKeys(this.#handle, this.#codecs, keys)
    nativeSelectMany()
    return takeAll(this.#values)
  }

  deleteMany(keys) {
    this.#stageWrite(stageCachedKeys, keys)
    return booleans(nativeDeleteMany())
  }

  #stageWrite(stage, items) {
    const names = this.isComputing() ? [] : undefined
    const see = names === undefined ? undefined : (item) => names.push(nameOf(item))
    stage(this.#handle, this.#codecs, items, see)
    // What a generator of the user's began to compute meanwhile may be for any key.
    if (names === undefined) this.landed()
    else for (const name of names) this.landed(name)
  }

  clear() {
    this.landed()
    nativeClear(this.#handle)
  }

  /** A key as the native half takes it. */
  #key(key) {
    return this.#keys.cross(this.#keys.toItem(key, 'key'), KEY)
  }

  // --- the face of a Map, as far as it is not CacheLike's

  entries() {
    return walkCache(this, this.#handle, this.#codecs, PAIRS)
  }

  keys() {
    return walkCache(this, this.#handle, this.#codecs, KEYS)
  }

  values() {
    return walkCache(this, this.#handle, this.#codecs, VALUES)
  }
}

/** The cache of this name in a store. `flights` has what is being computed, by name of the cache. */
export function openCache(store, handle, name, options, flights) {
  const read = readCache(options, 'a cache')
  const opened = open(handle, name, { ...read, ...readCodecs(read) })
  if (!flights.has(name)) flights.set(name, new Map())
  return new Cache(INTERNAL, store, { ...opened, flights: flights.get(name), read })
}

function openInStore(store, handle, name, read, flights) {
  const opened = openLoaded(handle, name, read)
  if (!flights.has(name)) flights.set(name, new Map())
  return new Cache(INTERNAL, store, { ...opened, flights: flights.get(name), read })
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
  await loaderOf(handle, name, source, read).later(() => native.dropCache(handle, name))
  return openInStore(store, handle, name, read, flights)
}
