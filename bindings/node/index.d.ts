/// <reference types="node" />

/**
 * An in-memory key-value engine with two kinds of index that lives inside the program that uses it.
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
    /** The store that it is of. */
    readonly store: Store
  }
  interface WatchOptions {
    /** Whether waiting for changes keeps the process alive: by default it does. */
    ref?: boolean | undefined
  }
  interface Snapshot {
    readonly store: Store
  }
  interface CacheOptions<K extends KeyCodec = KeyCodec, V extends ValueCodec = ValueCodec> {
    /**
     * Gives all threads of the process that name it one cache. The first one makes it; others give the same options or leave them
     * out. It lasts until the last of them is collected.
     */
    shared?: string | undefined
  }
  interface Cache<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> {
    /** The name by which threads share it. */
    readonly shared: string | undefined
    /** The cache as bytes, with its options and the times that its pairs still live: what `Cache.load` takes. */
    dump(options?: SignalOptions): Promise<Buffer>
    dumpSync(): Buffer
    /** Writes the same to a file, which is replaced in one step. */
    save(path: string | URL, options?: SignalOptions): Promise<void>
    saveSync(path: string | URL): void
  }
  namespace Cache {
    /**
     * A cache from the file that `save` wrote, or from the bytes of `dump`. Options that are left out are those that were saved.
     * A smaller cache evicts as it is filled. Pairs that expired meanwhile are left out.
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
 * When a change reaches the disk: when `save` or `close` is called; within a second; before the write returns.
 *
 * With `always`, each write and each `commit` blocks the thread until the disk has it. To wait without blocking, take `everysec`
 * and `await store.flush()` after the writes: one call for all of them.
 */
export type Durability = 'none' | 'everysec' | 'always'

export interface OpenOptions {
  /** `everysec` by default. */
  durability?: Durability | undefined
  /**
   * For reading alone: takes no lock, and sees the file as it is now. Others may write to it meanwhile: `Store.refresh` and
   * `Store.follow` show what they wrote. All threads that open a file so share one store.
   */
  readOnly?: boolean | undefined
  /** Fails where the file is not there, instead of making one. */
  existing?: boolean | undefined
  /** The most bytes that the store may hold in memory. A file with more is refused. */
  memoryLimit?: number | null | undefined
}

export interface SignalOptions {
  /** Rejects the promise once it aborts. Work that has begun goes on. */
  signal?: AbortSignal | undefined
}

export interface Progress {
  /** Pairs, and operations of a log, that have been done. */
  pairs: number
  /** Bytes of the file that have been done. */
  bytes: number
}

export interface LaterOptions extends SignalOptions {
  /** Gets the progress now and then, and at the end. An exception from it rejects the promise. */
  progress?: ((progress: Progress) => void) | undefined
}

/**
 * Opens the store in the file at `path`, or makes one. One process at a time may write to a file; all threads of it that
 * open the same path get the same store, which has one durability.
 *
 * Fails with `TWINDEX_IN_USE` where another process has it, `TWINDEX_CORRUPT` where it is damaged, and `TWINDEX_IO`. What a power
 * cut left unfinished is cut off: see `Store.torn`.
 */
export function open(path: string | URL, options?: OpenOptions & LaterOptions): Promise<Store>
export function openSync(path: string | URL, options?: OpenOptions): Store

// @ts-ignore: any type where the package is not there
type Cluster = typeof import('@twindex/cluster')

/**
 * Connects to a Valkey or Redis Cluster, or to one server: the same tables, their verbs as promises. This needs the package
 * `@twindex/cluster`, which has the types of the options and of the store.
 */
export function connect(...given: Parameters<Cluster['connect']>): ReturnType<Cluster['connect']>

/** Reads a whole file and verifies every checksum. Rejects with `TWINDEX_CORRUPT` where it is no store at all. */
export function check(path: string | URL, options?: CheckOptions & LaterOptions): Promise<Report>
export function checkSync(path: string | URL, options?: CheckOptions): Report

/** Writes what can be saved of a damaged file to a new one, which must not be there yet. The old one is left as it is. */
export function recover(
  path: string | URL,
  target: string | URL,
  options?: CheckOptions & LaterOptions,
): Promise<Recovery>
export function recoverSync(path: string | URL, target: string | URL, options?: CheckOptions): Recovery

export interface ChangesOptions {
  /** The changes of these tables alone, with keys and values as these handles have them. */
  tables?: Iterable<AnyTable> | undefined
  /** Keys and values as bytes, whatever the tables' codecs. */
  raw?: boolean | undefined
  /** Ends the iteration once it aborts: a call that waits then rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Whether waiting for changes keeps the process alive: by default it does. */
  ref?: boolean | undefined
}

/**
 * What came of a change of a table. To do it again changes nothing. Keys and values are as the table's codecs show them; a codec
 * of your own is found by the option `tables`. `expires` is when a pair expires, if it does: as of `Date.now()`.
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

/** Changes that were made together: all of them, or none after a crash. */
export interface ChangeSet {
  /** The position behind them: where to go on. */
  readonly position: string
  readonly changes: readonly Change[]
}

/** The changes of a store, as an async iterator of batches. */
export class Changes implements AsyncIterableIterator<ChangeSet> {
  private constructor()

  /** The position after the last batch; `undefined` before the first batch of a file that is read from its start. */
  readonly position: string | undefined
  /** The store that it is of; `undefined` once it ended. */
  readonly store: Store | undefined
  /** The next batch; waits for it. */
  next(): Promise<IteratorResult<ChangeSet, undefined>>
  /** The next batch if it is there already, or `undefined`. */
  poll(): Promise<ChangeSet | undefined>
  /** The next batch, or `undefined` if none comes within this many milliseconds. */
  wait(timeout?: number): Promise<ChangeSet | undefined>
  /** Ends the iteration, and the calls that wait. */
  close(): void
  return(value?: unknown): Promise<IteratorResult<ChangeSet, undefined>>
  [Symbol.asyncIterator](): this
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The changes of the store in a file, behind a position or all that its log has, without the memory of a store: see
 * `Store.changes`.
 */
export function changes(path: string | URL, position?: string | undefined, options?: ChangesOptions): Changes

/** What happened to a store's file in the background. */
export interface Warning {
  /** What happened; `log_failed` is an `error`: nothing can be written any more. */
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

/** Figures of a store and its file. */
export interface Stats {
  tables: number
  pairs: number
  /** Bytes in memory. */
  memory: number
  /** Open snapshots, the bytes that are kept for them alone, and transactions that have not ended, of all threads. */
  snapshots: number
  keptBytes: number
  transactions: number
  /** Bytes of the file's dump, and of the log behind it. */
  dumpBytes: number
  logBytes: number
  /** The bytes of these that are not yet on disk, and for how many milliseconds the oldest of them. */
  unsyncedBytes: number
  unsyncedFor: number | undefined
  /** How often the log was put on disk since the store was opened, and when it was last. */
  syncs: number
  lastSync: Date | undefined
  /** How often the file was written anew, and whether it is being. */
  compactions: number
  compacting: boolean
  /** Why the last compaction in the background failed, and why writes fail, if they do. */
  compactionError: string | undefined
  logError: string | undefined
  /** Where the last change is in the store's history, if the file has a log. */
  position: string | undefined
  /**
   * Of a store that was opened with `readOnly`: the bytes of the file that were not read yet, as of the last refresh; when all
   * were read; why `follow` fails, if it does.
   */
  behindBytes: number
  refreshed: Date | undefined
  followError: string | undefined
}

export interface StoreOptions extends BaseOptions {
  /** Opens the process's store of this name: one store for all threads that open it. It lasts until the last lets go. */
  shared?: string | undefined
  /** The most bytes that the store may hold. On a store that is open already it replaces the limit. */
  memoryLimit?: number | null | undefined
}

/** A set of named tables, in memory, or also in a file where `open` made it. */
export interface Store extends BaseStore {}
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the class has what the interface says
export class Store {
  constructor(options?: StoreOptions)

  /** A store from the bytes that `dump` gave, or from the file that `save` wrote. */
  static load(source: ArrayBufferView | string | URL, options?: BaseOptions & LaterOptions): Promise<Store>
  static loadSync(source: ArrayBufferView | string | URL, options?: BaseOptions): Store

  /** A batch of writes that are done all or not at all, to be filled and committed. */
  batch(): Batch
  /** The same, committed once `fill` has returned, and dropped where it throws: whether each write took effect. */
  batch(fill: (batch: Batch) => void): boolean[]

  /** The whole store as bytes. */
  dump(options?: SignalOptions): Promise<Buffer>
  dumpSync(): Buffer

  /** The store's file; `undefined` in memory alone. */
  readonly path: string | undefined
  readonly durability: Durability
  readonly readOnly: boolean
  /** The incomplete last write that was cut off when the file was opened after a crash. */
  readonly torn: Place | undefined
  stats(): Stats

  /**
   * Reads what another process wrote to the file since, where this store was opened with `readOnly`: how many batches of changes
   * that were. A store that is open for writing has all of them already.
   *
   * Tables go on working, over compactions too and when the file is replaced. When it is done, no batch is there in part; while
   * it is at work, reads may see a part of one.
   */
  refresh(options?: SignalOptions): Promise<number>
  refreshSync(): number
  /**
   * Keeps up by itself from now on, for all threads that have this file open with `readOnly`: a thread refreshes it every 1 to
   * 32 ms. Resolves once what is there is read. What goes wrong later is in `stats().followError`, and it tries again.
   */
  follow(options?: SignalOptions): Promise<void>
  followSync(): void
  /**
   * Where the store's last change is in its history: what to give to `changes` later. `TWINDEX_NO_LOG` where its durability is
   * `none`, `TWINDEX_NO_FILE` in memory alone.
   */
  readonly position: string
  /**
   * The changes behind a position, or behind where the store is now, in the order of its log: those that are there already, then
   * those to come. They are read from the file, so a store that was opened with `readOnly` in another process gives them as well.
   *
   * The first batch is `TWINDEX_POSITION_GONE` where the file no longer has them: begin again from a copy of the store, such as
   * one opened with `readOnly`, and its `position`.
   */
  changes(position?: string | undefined, options?: ChangesOptions): Changes

  /** Resolves once every change made before the call is on disk. With `none`, that is what `save` is for. */
  flush(options?: SignalOptions): Promise<void>
  flushSync(): void

  /**
   * Writes the whole store to a file, which is replaced in one step: its own, without what has been overwritten since, or
   * a copy at `path`.
   */
  save(path?: string | URL | undefined, options?: LaterOptions): Promise<void>
  saveSync(path?: string | URL | undefined): void

  /** Writes the store's own file anew while reads and writes go on. Happens by itself when it is worth it. */
  compact(options?: LaterOptions): Promise<void>
  compactSync(): void

  /**
   * Calls the listener when something happens to the file in the background that somebody should know: a compaction that
   * failed, a sync that took more than a second, a follower that does not keep up. `stats` reports the same.
   */
  on(event: 'warning', listener: (warning: Warning) => void): this
  once(event: 'warning', listener: (warning: Warning) => void): this
  off(event: 'warning', listener: (warning: Warning) => void): this

  /**
   * Lets go of the store: it, its tables, cursors, iterators and batches fail from now on. Resolves once all that was written
   * is on disk, and the file is let go where no other thread has it. A shared store stays with the others.
   */
  close(options?: SignalOptions): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: whatever its codecs
type AnyTable = Table<any, any>
type KeyOf<T> = T extends Table<infer K, infer _> ? Input<K> : never
type ValueOf<T> = T extends Table<infer _, infer V> ? Input<V> : never

/** Writes to tables of one store that are done together: after a crash its file has all of them or none. */
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
   * Has the batch done only if the key has this value when it is committed, or is absent for `undefined`. Otherwise
   * `commit` throws `TWINDEX_UNEXPECTED`, and nothing is done. What the batch itself writes does not count.
   */
  expect<T extends AnyTable>(table: T, key: KeyOf<T>, value: ValueOf<T> | undefined): this
  /** Does all of them, in order: whether each took effect. Where one fails, none is done. Ends the batch. */
  commit(): boolean[]
}
