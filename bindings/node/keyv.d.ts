import { EventEmitter } from 'node:events'
import type { CacheBounds, Durability, Store } from 'twindex'

/** Bounds and times are for an adapter in memory alone, which is a cache. */
export interface KeyvTwindexOptions extends CacheBounds {
  /** The file, which is made where it is not there; in memory alone without one. */
  path?: string | URL | undefined
  /** When a change reaches the disk, `everysec` by default. */
  durability?: Durability | undefined
  /** The most bytes that the store of a file may hold in memory. */
  memoryLimit?: number | null | undefined
  /** A store that is open already, instead of a file. */
  store?: Store | undefined
  /** The table that has the pairs, `keyv` by default. */
  table?: string | undefined
  /** In memory alone: the name by which all threads have one cache. */
  shared?: string | undefined
}

/**
 * A storage adapter: `new Keyv({ store: new KeyvTwindex({ path: 'cache.twx' }) })`. Later writes remove what has expired, a few pairs
 * each. The table has a sorted index, and its pairs expire.
 */
export class KeyvTwindex extends EventEmitter {
  constructor(options?: KeyvTwindexOptions)
  namespace: string | undefined
  readonly opts: { dialect: string; url: string }
  get<Value>(key: string): Promise<Value | undefined>
  getMany<Value>(keys: string[]): Promise<(Value | undefined)[]>
  // biome-ignore lint/suspicious/noExplicitAny: as Keyv declares it
  set(key: string, value: any, ttl?: number): Promise<boolean>
  // biome-ignore lint/suspicious/noExplicitAny: as Keyv declares it
  setMany(entries: { key: string; value: any; ttl?: number }[]): Promise<boolean[]>
  delete(key: string): Promise<boolean>
  deleteMany(keys: string[]): Promise<boolean>
  clear(): Promise<void>
  iterator<Value>(namespace?: string): AsyncGenerator<[string, Value | undefined], void>
  /** Closes the store, unless it was given as `store`. */
  disconnect(): Promise<void>
}
export default KeyvTwindex
