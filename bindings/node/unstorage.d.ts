import type { Cache, Store } from 'twindex'

export interface TwindexDriverOptions {
  /** A store that is open already; one in memory of its own without it. */
  store?: Store | undefined
  /** The cache that has the items, `unstorage` by default. */
  name?: string | undefined
  /** The most items, or the most bytes of memory that they take: one of the two. */
  max?: number | undefined
  maxSize?: number | undefined
  /** How many milliseconds items are kept, unless `setItem` has a `ttl`, which is in seconds. */
  ttl?: number | undefined
  /** What all keys begin with in the cache. */
  base?: string | undefined
}

/** A driver of unstorage. */
export interface TwindexDriver {
  name: string
  options: TwindexDriverOptions
  getInstance(): Cache<'str', 'bytes'>
  hasItem(key: string): boolean
  getItem(key: string): string | null
  getItemRaw(key: string): Buffer | null
  setItem(key: string, value: string, options?: { ttl?: number }): void
  setItemRaw(key: string, value: string | ArrayBufferView, options?: { ttl?: number }): void
  removeItem(key: string): void
  getKeys(base?: string): string[]
  getMeta(key: string): { ttl?: number }
  clear(base?: string): void
  dispose(): void
}

/** A driver of unstorage, in memory: `createStorage({ driver: twindexDriver({ maxSize: 64e6 }) })`. */
export function twindexDriver(options: TwindexDriverOptions): TwindexDriver
export default twindexDriver
