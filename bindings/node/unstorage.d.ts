import type { Cache, CacheBounds } from 'twindex'

/** `setItem` may have a `ttl` too, which is in seconds. */
export interface TwindexDriverOptions extends CacheBounds {
  /** The name by which all threads have one cache. */
  shared?: string | undefined
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

/** A driver of unstorage, in memory: `createStorage({ driver: twindexDriver({ capacity: 64e6 }) })`. */
export function twindexDriver(options: TwindexDriverOptions): TwindexDriver
export default twindexDriver
