import type { AbstractDatabaseOptions, AbstractLevel } from 'abstract-level'
import type { Durability, Store } from 'twindex'

export interface TwindexLevelOptions<K, V> extends AbstractDatabaseOptions<K, V> {
  /** When a change reaches the disk, `everysec` by default. */
  durability?: Durability | undefined
  /** The most bytes in memory. */
  memoryLimit?: number | null | undefined
  /** The name of the table, `level` by default. */
  table?: string | undefined
}

/** A database of abstract-level. Its batches are atomic; its iterators see later writes. */
export class TwindexLevel<K = string, V = string> extends AbstractLevel<Buffer | Uint8Array | string, K, V> {
  /** In the file at `location`, which is created if it is missing. */
  constructor(location: string | URL, options?: TwindexLevelOptions<K, V>)
  /** In memory. */
  constructor(options?: TwindexLevelOptions<K, V>)
  get location(): string | URL | undefined
  /** The store while it is open. */
  get store(): Store | undefined
}
