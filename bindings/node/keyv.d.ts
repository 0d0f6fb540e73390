import { EventEmitter } from 'node:events'
import type { CacheBounds, Durability, Store } from 'twindex'

/** Limits and times are for an adapter in memory, which is a cache. */
export interface KeyvTwindexOptions extends CacheBounds {
  /** The file, which is created if it is missing. Without a path the adapter is in memory. */
  path?: string | URL | undefined
  /** When a change reaches the disk, `everysec` by default. */
  durability?: Durability | undefined
  /** With a file: the most bytes in memory. */
  memoryLimit?: number | null | undefined
  /** An open store, instead of a file. */
  store?: Store | undefined
  /** The name of the table, `keyv` by default. */
  table?: string | undefined
  /** In memory: all threads that pass this name share one cache. */
  shared?: string | undefined
}

/**
 * A storage adapter: `new Keyv({ store: new KeyvTwindex({ path: 'cache.twx' }) })`. Each write removes a few expired pairs. The table
 * has a sorted index, and its pairs expire.
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
  /** Closes the store, unless you passed it as `store`. */
  disconnect(): Promise<void>
}
export default KeyvTwindex
