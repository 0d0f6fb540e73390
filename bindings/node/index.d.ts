/// <reference types="node" />

/**
 * A key-value engine in your program's memory, with hash and sorted tables.
 *
 * ```js
 * import { Store } from 'twindex'
 * const store = new Store()
 * const users = store.table('users')
 * users.insert('ada', '1815') // true
 * users.select('ada') // '1815'
 * ```
 */

import type {
  StoreOptions as BaseOptions,
  BaseStore,
  CheckOptions,
  Index,
  Input,
  KeyCodec,
  Place,
  Recovery,
  Report,
  Table,
  ValueCodec,
} from './lib/shared/types.js'

export * from './lib/shared/types.js'

declare module './lib/shared/types.js' {
  interface Table<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> {
    /** Its store. */
    readonly store: Store
  }
  interface WatchOptions {
    /** Whether waiting for changes keeps the process alive; true by default. */
    ref?: boolean | undefined
  }
  interface Snapshot {
    readonly store: Store
  }
  interface CacheOptions<K extends KeyCodec = KeyCodec, V extends ValueCodec = ValueCodec> {
    /**
     * All threads of the process that pass this name share one cache. The first makes it; the others pass the same options, or none.
     * It lasts until the last thread has released it.
     */
    shared?: string | undefined
  }
  interface Cache<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> {
    /** The name by which threads share it. */
    readonly shared: string | undefined
    /** The cache as bytes for `Cache.load`, with its options and the times that its pairs still live. */
    dump(options?: SignalOptions): Promise<Buffer>
    dumpSync(): Buffer
    /** Writes these bytes to a file, which is replaced in one step. */
    save(path: string | URL, options?: SignalOptions): Promise<void>
    saveSync(path: string | URL): void
  }
  namespace Cache {
    /**
     * Loads a cache from a file of `save` or the bytes of `dump`. Options replace the saved ones. A smaller cache evicts while it
     * loads. Pairs that expired meanwhile are not loaded.
     */
    function load<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>(
      source: ArrayBufferView | string | URL,
      options?: CacheOptions<K, V> & SignalOptions,
    ): Promise<Cache<K, V>>
    function loadSync<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>(
      source: ArrayBufferView | string | URL,
      options?: CacheOptions<K, V>,
    ): Cache<K, V>
  }
}

/**
 * When a change reaches the disk:
 *
 * - `none`: with `save` or `close`.
 * - `everysec`: within two seconds.
 * - `always`: before the write returns.
 *
 * With `always` each write and each `commit` blocks the thread until the disk has it. To wait without blocking, use `everysec` and one
 * `await store.flush()` after the writes.
 */
export type Durability = 'none' | 'everysec' | 'always'

export interface OpenOptions {
  /** `everysec` by default. */
  durability?: Durability | undefined
  /**
   * Opens the file read-only, without a lock, as it is now. `refresh` and `follow` read what its writer adds. All threads that open a
   * file read-only share one store.
   */
  readOnly?: boolean | undefined
  /** Fails if there is no file, instead of creating one. */
  existing?: boolean | undefined
  /** The most bytes in memory. A file that needs more is refused. */
  memoryLimit?: number | null | undefined
}

export interface SignalOptions {
  /** Rejects the promise when it aborts. Work that has begun goes on. */
  signal?: AbortSignal | undefined
}

export interface Progress {
  /** Pairs, and operations of the log, done so far. */
  pairs: number
  /** Bytes of the file done so far. */
  bytes: number
}

export interface LaterOptions extends SignalOptions {
  /** Called several times a second, and at the end. An exception from it rejects the promise. */
  progress?: ((progress: Progress) => void) | undefined
}

/**
 * Opens the store in the file at `path`, or creates it. One process at a time may write to a file; all its threads that open the same
 * path share one store and pass the same durability.
 *
 * Fails with `TWINDEX_IN_USE` if another process has it open for writing, with `TWINDEX_CORRUPT` if it is damaged, and with
 * `TWINDEX_IO`. An incomplete last write is discarded: see `Store.torn`.
 */
export function open(path: string | URL, options?: OpenOptions & LaterOptions): Promise<Store>
export function openSync(path: string | URL, options?: OpenOptions): Store

// @ts-ignore: `any` without the package
type Cluster = typeof import('@twindex/cluster')

/**
 * Connects to a Valkey or Redis Cluster, or to one server: the same tables, with verbs that return promises. Needs the package
 * `@twindex/cluster`, which documents the options.
 */
export function connect(...given: Parameters<Cluster['connect']>): ReturnType<Cluster['connect']>

/** Reads a whole file and verifies every checksum. Rejects with `TWINDEX_CORRUPT` if it is not a store's file. */
export function check(path: string | URL, options?: CheckOptions & LaterOptions): Promise<Report>
export function checkSync(path: string | URL, options?: CheckOptions): Report

/** Writes what can be saved of a damaged file to the new file `target`. The old one stays unchanged. */
export function recover(
  path: string | URL,
  target: string | URL,
  options?: CheckOptions & LaterOptions,
): Promise<Recovery>
export function recoverSync(path: string | URL, target: string | URL, options?: CheckOptions): Recovery

export interface ChangesOptions {
  /** Only the changes of these tables, with the codecs of these handles. */
  tables?: Iterable<AnyTable> | undefined
  /** Keys and values as bytes, without decoding. */
  raw?: boolean | undefined
  /** Ends the iteration once it aborts: a call that waits then rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Whether waiting for changes keeps the process alive; true by default. */
  ref?: boolean | undefined
}

/**
 * A change of a table. Applying it twice is harmless. Keys and values are decoded by the table's codecs; for your own codec
 * pass the option `tables`. `expires` is when the pair expires, in milliseconds since 1970.
 */
export type Change = { readonly table: string } & (
  | { readonly kind: 'put'; readonly key: unknown; readonly value: unknown; readonly expires?: number }
  | { readonly kind: 'delete'; readonly key: unknown }
  | {
      readonly kind: 'create'
      readonly index: Index
      readonly codecs: { readonly keys: string; readonly values: string }
    }
  | { readonly kind: 'drop' | 'clear' }
)

/** Changes that were made together. After a crash the file has all of them or none. */
export interface ChangeSet {
  /** The position after them, to continue from. */
  readonly position: string
  readonly changes: readonly Change[]
}

/** The changes of a store, as an async iterator of batches. */
export class Changes implements AsyncIterableIterator<ChangeSet> {
  private constructor()

  /** The position after the last batch; `undefined` before the first batch of a file that is read from its start. */
  readonly position: string | undefined
  /** Its store; `undefined` after its end. */
  readonly store: Store | undefined
  /** Waits for the next batch. */
  next(): Promise<IteratorResult<ChangeSet, undefined>>
  /** The next batch, or `undefined` if there is none yet. */
  poll(): Promise<ChangeSet | undefined>
  /** Waits for the next batch, up to this many milliseconds; then `undefined`. */
  wait(timeout?: number): Promise<ChangeSet | undefined>
  /** Ends the iteration and the calls that wait. */
  close(): void
  return(value?: unknown): Promise<IteratorResult<ChangeSet, undefined>>
  [Symbol.asyncIterator](): this
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The changes of a store's file after a position, or all that its log has, without loading the store: see `Store.changes`.
 */
export function changes(path: string | URL, position?: string | undefined, options?: ChangesOptions): Changes

/** A background event of a store's file. */
export interface Warning {
  /** `log_failed` is an `error`: nothing can be written any more. */
  readonly event:
    | 'log_failed'
    | 'log_full'
    | 'log_torn'
    | 'compaction_failed'
    | 'slow_sync'
    | 'writers_wait'
    | 'follow_failed'
  readonly level: 'warn' | 'error'
  readonly message: string
  readonly path: string
}

/** Statistics of a store and its file. */
export interface Stats {
  tables: number
  pairs: number
  /** Bytes in memory. */
  memory: number
  /** Of all threads: open snapshots, the bytes that they need, and transactions that have not ended. */
  snapshots: number
  keptBytes: number
  transactions: number
  /** Bytes of the file's dump, and of the log after it. */
  dumpBytes: number
  logBytes: number
  /** The bytes not on disk yet, and the age of the oldest in milliseconds. */
  unsyncedBytes: number
  unsyncedFor: number | undefined
  /** How often the log was synced since the store was opened, and when last. */
  syncs: number
  lastSync: Date | undefined
  /** How often the file was compacted, and whether it is now. */
  compactions: number
  compacting: boolean
  /** Why the last background compaction failed, and why writes fail. */
  compactionError: string | undefined
  logError: string | undefined
  /** The position of the last change, if the file has a log. */
  position: string | undefined
  /** With `readOnly`: the bytes of the file not read yet, as of the last refresh. */
  behindBytes: number
  /** With `readOnly`: when all were read. */
  refreshed: Date | undefined
  /** With `readOnly`: why `follow` fails. */
  followError: string | undefined
}

export interface StoreOptions extends BaseOptions {
  /** All threads of the process that pass this name share one store. It lasts until the last thread has released it. */
  shared?: string | undefined
  /** The most bytes in memory. If the shared store exists already, this replaces its limit. */
  memoryLimit?: number | null | undefined
}

/** A set of named tables, in memory or, from `open`, in a file. */
export interface Store extends BaseStore {}
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the class has what the interface says
export class Store {
  constructor(options?: StoreOptions)

  /** A store in memory from the bytes of `dump` or a file of `save`. */
  static load(source: ArrayBufferView | string | URL, options?: BaseOptions & LaterOptions): Promise<Store>
  static loadSync(source: ArrayBufferView | string | URL, options?: BaseOptions): Store

  /** A batch of writes: all are done or none. Fill it, then `commit` it. */
  batch(): Batch
  /** Commits the batch when `fill` returns, drops it if `fill` throws. Returns whether each write took effect. */
  batch(fill: (batch: Batch) => void): boolean[]

  /** The whole store as bytes. */
  dump(options?: SignalOptions): Promise<Buffer>
  dumpSync(): Buffer

  /** The store's file; `undefined` for a store in memory. */
  readonly path: string | undefined
  readonly durability: Durability
  readonly readOnly: boolean
  /** The incomplete last write that was discarded when the file was opened. */
  readonly torn: Place | undefined
  stats(): Stats

  /**
   * With `readOnly`: reads the changes that another process has written since. Returns the number of batches.
   *
   * Open tables go on working, also when the file is compacted or replaced. Until it is done, reads may see a part of a batch.
   */
  refresh(options?: SignalOptions): Promise<number>
  refreshSync(): number
  /**
   * With `readOnly`: starts a thread that refreshes the store every 1 to 32 ms, for all threads that have it open. Resolves after the
   * first time. Later errors are in `stats().followError`, and it tries again.
   */
  follow(options?: SignalOptions): Promise<void>
  followSync(): void
  /**
   * The position of the store's last change, for `changes`. `TWINDEX_NO_LOG` if the durability is `none`, `TWINDEX_NO_FILE` for a store
   * in memory.
   */
  readonly position: string
  /**
   * The changes after a position, by default from now on, in the order of the log. They are read from the file, so a read-only store
   * in another process has them too.
   *
   * The first batch fails with `TWINDEX_POSITION_GONE` if the file no longer has them: begin again from a snapshot and its
   * `position`.
   */
  changes(position?: string | undefined, options?: ChangesOptions): Changes

  /** Resolves when every earlier change is on disk. With `none` use `save`. */
  flush(options?: SignalOptions): Promise<void>
  flushSync(): void

  /**
   * Writes the whole store to its own file, or a copy to `path`, and replaces the old file in one step.
   */
  save(path?: string | URL | undefined, options?: LaterOptions): Promise<void>
  saveSync(path?: string | URL | undefined): void

  /** Rewrites the file without overwritten and deleted pairs, while reads and writes go on. The store also compacts on its own. */
  compact(options?: LaterOptions): Promise<void>
  compactSync(): void

  /**
   * Background events: a compaction failed, a sync took more than a second, a follower does not keep up. `stats` reports the same.
   */
  on(event: 'warning', listener: (warning: Warning) => void): this
  once(event: 'warning', listener: (warning: Warning) => void): this
  off(event: 'warning', listener: (warning: Warning) => void): this

  /**
   * Closes the store: every later use of it, its tables, cursors, iterators and batches fails. Resolves when all writes are on disk.
   * Other threads that share the store keep it open.
   */
  close(options?: SignalOptions): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: any codecs
type AnyTable = Table<any, any>
type KeyOf<T> = T extends Table<infer K, infer _> ? Input<K> : never
type ValueOf<T> = T extends Table<infer _, infer V> ? Input<V> : never

/** Writes that are done together: after a crash the file has all of them or none. */
export class Batch {
  private constructor()

  readonly store: Store
  /** The number of writes in it. */
  readonly size: number
  insert<T extends AnyTable>(table: T, key: KeyOf<T>, value: ValueOf<T>): this
  replace<T extends AnyTable>(table: T, key: KeyOf<T>, value: ValueOf<T>): this
  upsert<T extends AnyTable>(table: T, key: KeyOf<T>, value: ValueOf<T>): this
  /** As `upsert`. */
  set<T extends AnyTable>(table: T, key: KeyOf<T>, value: ValueOf<T>): this
  delete<T extends AnyTable>(table: T, key: KeyOf<T>): this
  /** Adds `by`, 1 by default, to the value, a decimal number. An absent key counts as 0. */
  increment<T extends AnyTable>(table: T, key: KeyOf<T>, by?: number | bigint): this
  /**
   * Makes `commit` fail with `TWINDEX_UNEXPECTED`, and write nothing, unless the key has this value then, or is absent for `undefined`.
   * Writes of the batch itself do not count.
   */
  expect<T extends AnyTable>(table: T, key: KeyOf<T>, value: ValueOf<T> | undefined): this
  /** Does all writes in order. If one fails, none is done. Returns whether each took effect. Ends the batch. */
  commit(): boolean[]
}
