import type { Cache, CacheBounds } from 'twindex'

/** `setItem` takes a `ttl` too, in seconds. */
export interface TwindexDriverOptions extends CacheBounds {
  /** All threads that pass this name share one cache. */
  shared?: string | undefined
  /** The start of all keys in the cache. */
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
