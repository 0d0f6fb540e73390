/**
 * A store in a browser, in the storage of the page's origin.
 *
 * ```js
 * import { open } from 'twindex-wasm/browser'
 * const store = await open('app')
 * store.table('users').set('ada', '1815')
 * ```
 */

import type {
  CheckOptions,
  Host,
  Index,
  Input,
  KeyCodec,
  OpenTable,
  Recovery,
  Report,
  Snapshot,
  SnapshotTable,
  SortedTable,
  Source,
  Store,
  Table,
  Transaction,
  ValueCodec,
  Watch,
  WatchOptions,
} from './index.js'

/**
 * When a change is on the disk:
 *
 * - `always`: when the call returns, in `indexeddb` soon after.
 * - `everysec`: within a second.
 * - `none`: after `flush` and `close`.
 *
 * In `opfs` a change always outlives the tab. If writing to the disk fails, that call fails, in `indexeddb` the next one.
 */
export type Durability = 'none' | 'everysec' | 'always'

/** `opfs` is the origin's private file system, only in workers; `indexeddb` works in windows too, and writes later. */
export type Storage = 'opfs' | 'indexeddb'

export interface KeepOptions {
  /** `everysec` by default. */
  durability?: Durability | undefined
  /** The most bytes in memory. */
  memoryLimit?: number | null | undefined
  /** Opens the store read-only, as its tab has written it so far. Any number of tabs may do so. */
  readOnly?: boolean | undefined
  /** Where the module is, as for `load`. */
  source?: Source | Promise<Source> | undefined
  /**
   * `opfs` if it can be used, else `indexeddb`. A store is in one of them: name it if a window and a worker open the same
   * store, since windows have only `indexeddb`.
   */
  storage?: Storage | undefined
  /** Waits until no other tab or worker has the store, instead of failing with `TWINDEX_IN_USE`. */
  wait?: boolean | undefined
}

/** The incomplete last record that a crash left, and that was discarded. */
export interface Torn {
  readonly offset: number
  readonly bytes: number
}

export interface KeptStore extends Store {
  readonly readOnly: boolean
  readonly storage: Storage
  readonly torn: Torn | undefined
  /** Puts all earlier writes on the disk. `closeSync` cannot wait for that in `indexeddb`; a later `close` reports the outcome. */
  flush(): Promise<void>
  /** Rewrites the file without replaced and deleted pairs, while writes go on. The store also compacts on its own. */
  compact(): Promise<void>
}

/**
 * Opens the store of this name, or creates it. The page must be secure (`https:`, or `localhost`). One tab or worker at a time has
 * it for writing; another gets the error `TWINDEX_IN_USE`. A damaged store is `TWINDEX_CORRUPT`; once a write has failed, every write is `TWINDEX_LOG_FAILED`.
 */
export function open(name: string, options?: KeepOptions): Promise<KeptStore>

export interface ConnectOptions extends Omit<KeepOptions, 'readOnly' | 'wait'> {
  /** How many milliseconds a write, or `connect`, waits for the tab or worker that has the file. 30,000 by default. */
  timeout?: number | undefined
}

/** The same verbs, each of which returns a promise. */
type Later<T, Name extends keyof T> = {
  [Verb in Name]: T[Verb] extends (...given: infer Given) => infer Result
    ? (...given: Given) => Promise<Result>
    : never
}

/**
 * A table of a connected store. Reads are from the tab's own copy, at once. Writes return promises that resolve once the holder has written
 * them to the file. This tab sees `set`, `upsert` and `delete` at once, and loses them again if the promise is rejected.
 */
export interface ConnectedTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends SnapshotTable<K, V>,
    Later<
      Table<K, V>,
      | ('insert' | 'replace' | 'upsert' | 'delete' | 'take' | 'alter' | 'compareAndSwap' | 'clear')
      | ('insertMany' | 'replaceMany' | 'upsertMany' | 'deleteMany' | 'compareAndSwapMany')
    > {
  /** The changes of all tabs, once the holder has them. After a takeover `lost` comes: read the table again. */
  watch(prefix?: Input<K> | undefined, options?: WatchOptions): Watch<K, V>
  /** As `upsert`. */
  set(key: Input<K>, value: Input<V>): Promise<boolean>
  increment(key: Input<K>, by?: number): Promise<number>
  increment(key: Input<K>, by: bigint): Promise<bigint>
  incrementMany(amounts: Iterable<readonly [Input<K>, number]>): Promise<number[]>
  incrementMany(amounts: Iterable<readonly [Input<K>, bigint]>): Promise<bigint[]>
}
export interface SortedConnectedTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends ConnectedTable<K, V>,
    Pick<SortedTable<K, V>, 'cursor' | 'scan' | 'first' | 'last'>,
    Later<SortedTable<K, V>, 'popFirst' | 'popLast' | 'deleteRange' | 'deletePrefix'> {}

declare module './src/shared/types.js' {
  interface Tables<K extends KeyCodec, V extends ValueCodec> {
    connected: { hash: Promise<ConnectedTable<K, V>>; sorted: Promise<SortedConnectedTable<K, V>> }
  }
}

/** A store that all tabs and workers of an origin read and write. */
export interface ConnectedStore {
  /** Opens the table, or creates it. */
  table: OpenTable<'connected'>
  tables(): [name: string, index: Index][]
  dropTable(name: string): Promise<boolean>
  /** Of this tab's copy. */
  snapshot(): Snapshot
  /** As for any store, but always a promise: the tab or worker that has the file commits it. */
  transaction<R>(run: (tx: Transaction) => R): Promise<Awaited<R>>
  /** Whether this tab or worker has the file at the moment. */
  readonly isHolder: boolean
  readonly storage: Storage
  /** The bytes of this tab's copy in memory. */
  readonly memory: number
  dump(): Promise<Uint8Array>
  /** Waits for the writes under way. Every later use is `TWINDEX_CLOSED`, and so is a transaction whose function still runs. */
  close(): Promise<void>
  readonly closed: boolean
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Opens the store of this name, or creates it, for all tabs and workers of the origin that call `connect`. One of them has the file;
 * when it goes, another takes over, and nothing that was acknowledged is lost.
 *
 * A write that no tab took in time is `TWINDEX_UNAVAILABLE` and was not done. One that was sent and not acknowledged is
 * `TWINDEX_UNKNOWN_OUTCOME`. A write that finds the disk full is `TWINDEX_LOG_FAILED`; later ones are tried again. Another tab that
 * has the store by `open`, or another version of this package, is `TWINDEX_IN_USE`.
 */
export function connect(name: string, options?: ConnectOptions): Promise<ConnectedStore>

export interface PlaceOptions {
  /** As for `open`. */
  storage?: Storage | undefined
}

/** The sorted names of the stores in one storage of this origin. */
export function list(options?: PlaceOptions): Promise<string[]>

/** Removes a store with all its files, damaged or not. Returns whether there was one. `TWINDEX_IN_USE` if it is open for writing. */
export function remove(name: string, options?: PlaceOptions): Promise<boolean>

/** Gives a store another name, which must be free. Neither may be open for writing. The files are copied, then removed. */
export function rename(name: string, to: string, options?: PlaceOptions): Promise<void>

export interface CheckKeptOptions extends CheckOptions {
  /** As for `open`. */
  source?: Source | Promise<Source> | undefined
  /** As for `open`. */
  storage?: Storage | undefined
}

export interface ExportOptions extends PlaceOptions {
  /** As for `open`. */
  source?: Source | Promise<Source> | undefined
}

/** The bytes of the store's `.twx` file as they are, damaged or not, open or not. Every other host opens them. */
export function exportFile(name: string, options?: ExportOptions): Promise<Uint8Array<ArrayBuffer>>

/**
 * Creates a store from a `.twx` file of any language, such as one that the user chose. The name must be free. A file that is damaged,
 * or takes more than `memoryLimit`, is refused.
 */
export function importFile(
  name: string,
  file: Host<'Blob'> | ArrayBufferView,
  options?: CheckKeptOptions,
): Promise<void>

/** Reads the file of the store of this name, open or not, and verifies every checksum. */
export function check(name: string, options?: CheckKeptOptions): Promise<Report>

/** Saves what can be saved of a damaged store under a new name. The old store stays unchanged. */
export function recover(name: string, to: string, options?: CheckKeptOptions): Promise<Recovery>
