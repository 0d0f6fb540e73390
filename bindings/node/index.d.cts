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

/** The kind of index of a table: `hash` finds single keys, `sorted` also scans keys in the order of their bytes. */
export type Index = 'hash' | 'sorted'

/**
 * How keys are seen:
 *
 * - `utf8`: strings.
 * - `buffer`, `view`: any view of bytes in; a `Buffer` or a `Uint8Array` out, which is a copy.
 * - `int`: safe integers; `bigint`: bigints of 64 bits. Both are the same 8 bytes, which order as the numbers do.
 * - `tuple`: arrays of `null`, strings, numbers, bigints, views of bytes and arrays, which order item by item.
 * - An encoding of your own.
 */
export type KeyEncoding = 'utf8' | 'buffer' | 'view' | 'int' | 'bigint' | 'tuple' | CustomEncoding

/**
 * How values are seen: `utf8`, `buffer` and `view` as keys are; `json` as whatever JSON can say; `int` and `bigint` as
 * decimal text, which is what `increment` adds to; or an encoding of your own.
 */
export type ValueEncoding = 'utf8' | 'buffer' | 'view' | 'json' | 'int' | 'bigint' | CustomEncoding

/** Two functions that turn what you have into what is stored, and back: `{ encode: pack, decode: unpack }`. */
// biome-ignore lint/suspicious/noExplicitAny: any value has some encoding
export interface CustomEncoding<In = any, Out = any> {
  encode(value: In): string | ArrayBufferView
  // biome-ignore lint/suspicious/noExplicitAny: it is what `format` says
  decode(stored: any): Out
  /** What `encode` makes and `decode` takes: `view` unless told. */
  format?: 'utf8' | 'buffer' | 'view' | undefined
}

/** An item of a key that is a tuple. Integers past `Number.MAX_SAFE_INTEGER` come out as bigints. */
export type TupleItem = null | string | number | bigint | ArrayBufferView | readonly TupleItem[]
/** What of a tuple comes out: views of bytes as copies. */
export type TupleOutput = null | string | number | bigint | Uint8Array | TupleOutput[]

interface Inputs {
  utf8: string
  buffer: ArrayBufferView
  view: ArrayBufferView
  json: unknown
  int: number
  bigint: bigint
  tuple: readonly TupleItem[]
}

interface Outputs {
  utf8: string
  buffer: Buffer
  view: Uint8Array
  // biome-ignore lint/suspicious/noExplicitAny: it is what JSON.parse returns
  json: any
  int: number
  bigint: bigint
  tuple: TupleOutput[]
}

/** Any encoding. */
export type Encoding = KeyEncoding | ValueEncoding

/** What a table with this encoding takes. */
export type Input<E extends Encoding> = E extends keyof Inputs
  ? Inputs[E]
  : E extends CustomEncoding<infer In, unknown>
    ? In
    : never

/** What a table with this encoding gives. */
export type Output<E extends Encoding> = E extends keyof Outputs
  ? Outputs[E]
  : E extends CustomEncoding<never, infer Out>
    ? Out
    : never

/** What stands for no value: with `json`, and an encoding of your own, only `undefined`, because there `null` is a value. */
export type None<E extends Encoding> = E extends 'json' | CustomEncoding ? undefined : undefined | null

/** Why a call failed, the same names in every language. */
export type ErrorCode =
  /** An argument of a wrong type. A `TypeError`. */
  | 'TWINDEX_TYPE'
  /** An unknown or conflicting option, or a number out of range. A `RangeError`. */
  | 'TWINDEX_RANGE'
  /** A value has no form in the table's encoding, as a lone surrogate has none, or bytes cannot be shown in it. */
  | 'TWINDEX_ENCODING'
  /** The store was closed, or the batch has ended. */
  | 'TWINDEX_CLOSED'
  /** A key of more than 65,535 bytes. */
  | 'TWINDEX_KEY_TOO_LONG'
  /** A value of more than 4 GiB - 1. */
  | 'TWINDEX_VALUE_TOO_LARGE'
  /** A table's name that is not 1 to 255 bytes long. */
  | 'TWINDEX_TABLE_NAME'
  /** The table has the other index. */
  | 'TWINDEX_WRONG_INDEX'
  /** A name that is neither `hash` nor `sorted`. */
  | 'TWINDEX_UNKNOWN_INDEX'
  /** The table was dropped. */
  | 'TWINDEX_TABLE_DROPPED'
  /** The write would take the store past its memory limit. */
  | 'TWINDEX_MEMORY_LIMIT'
  /** `increment` met a value that is not a decimal integer of 64 bits. */
  | 'TWINDEX_NOT_AN_INTEGER'
  /** `increment` would leave the range of 64 bits. */
  | 'TWINDEX_OVERFLOW'
  /** The bytes are not a whole, undamaged dump. */
  | 'TWINDEX_CORRUPT'
  /** Reading or writing a file failed. */
  | 'TWINDEX_IO'
  /** Another process has the file open for writing, `pid` where that is known, or this one has it with another durability. */
  | 'TWINDEX_IN_USE'
  /** Writing to the disk failed, now or earlier: nothing more can be kept. Reads go on. */
  | 'TWINDEX_LOG_FAILED'
  /** A write to a store that was opened for reading alone. */
  | 'TWINDEX_READ_ONLY'
  /** A use of the file of a store that has none. */
  | 'TWINDEX_NO_FILE'
  /** A name that is none of `none`, `everysec` and `always`. */
  | 'TWINDEX_UNKNOWN_DURABILITY'
  /** A batch was given a table of another store. */
  | 'TWINDEX_FOREIGN_TABLE'
  /** Another copy of this package has a shared store of this name in the same process. */
  | 'TWINDEX_OTHER_COPY'
  /** A bug in Twindex. */
  | 'TWINDEX_BUG'

/** The engine refused. Errors of arguments are a `TypeError` or a `RangeError` instead, and have a `code` too. */
export class TwindexError extends Error {
  constructor(code: ErrorCode, message: string)
  readonly name: 'TwindexError'
  readonly code: ErrorCode
  /** The file that it was about. */
  readonly path?: string
  /** Of `TWINDEX_IN_USE`: the process that has the file. */
  readonly pid?: number
  /** Of `TWINDEX_CORRUPT`: where the file is damaged, in bytes from its start. */
  readonly offset?: number
}

/** When a change reaches the disk: when `save` or `close` is called; within a second; before the write returns. */
export type Durability = 'none' | 'everysec' | 'always'

export interface OpenOptions {
  /** `everysec` unless told. */
  durability?: Durability | undefined
  /** For reading alone: takes no lock, and sees the file as it is now. Others may write to it meanwhile. */
  readOnly?: boolean | undefined
  /** Fails where the file is not there, instead of making one. */
  existing?: boolean | undefined
  /** The most bytes that the store may hold in memory. A file with more is refused. */
  memoryLimit?: number | null | undefined
}

export interface SignalOptions {
  /** Rejects the promise once it aborts. What was begun goes on. */
  signal?: AbortSignal | undefined
}

export interface Progress {
  /** Pairs, and operations of a log, that have been done. */
  pairs: number
  /** Bytes of the file that have been done. */
  bytes: number
}

export interface LaterOptions extends SignalOptions {
  /** Is told now and then how far it has come, and at the end. What it throws rejects the promise. */
  progress?: ((progress: Progress) => void) | undefined
}

/**
 * Opens the store in the file at `path`, or makes one. One process at a time may write to a file; all threads of it that
 * open the same path get the same store, which has one durability.
 *
 * Throws `TWINDEX_IN_USE` where another process has it, `TWINDEX_CORRUPT` where it is damaged, and `TWINDEX_IO`. What a power
 * cut left unfinished is cut off: see `Store.torn`.
 */
export function open(path: string | URL, options?: OpenOptions): Store

/** As `open`, on another thread. */
export function openAsync(path: string | URL, options?: OpenOptions & LaterOptions): Promise<Store>

/** A part of a file. */
export interface Place {
  offset: number
  bytes: number
}

/** What is in a file. */
export interface Report {
  /** The version of its format. */
  version: number
  bytes: number
  dumpBytes: number
  logBytes: number
  /** Records in the dump and in the log. */
  records: number
  dumpPairs: number
  /** Operations in the log. */
  operations: number
  /** What is damaged, from the start of the file to its end. */
  damage: (Place & { what: string })[]
  /** What a power cut left unfinished: no damage. */
  torn: Place | undefined
}

/** Options of what reads a file that may come from a stranger. */
export interface CheckOptions extends LaterOptions {
  /**
   * The most bytes of memory that what is in the file may take; more is `TWINDEX_MEMORY_LIMIT`. Unless told, 256 MiB, or
   * 32 bytes for each byte of the file if that is more.
   */
  memoryLimit?: number | null | undefined
}

/** Reads a whole file and verifies every checksum. Rejects with `TWINDEX_CORRUPT` where it is no store at all. */
export function check(path: string | URL, options?: CheckOptions): Promise<Report>

/** Writes what can be saved of a damaged file to a new one, which must not be there yet. The old one is left as it is. */
export function recover(
  from: string | URL,
  to: string | URL,
  options?: CheckOptions,
): Promise<{
  report: Report
  tables: { name: string; index: Index; pairs: number }[]
}>

/** Figures of a store and its file. */
export interface Stats {
  tables: number
  pairs: number
  /** Bytes in memory. */
  memory: number
  /** Bytes of the file's dump, and of the log behind it. */
  dumpBytes: number
  logBytes: number
  /** Of these, the bytes that are not yet on disk, and for how many milliseconds the first of them. */
  unsyncedBytes: number
  unsyncedFor: number | undefined
  /** How often the log was put on disk since the store was opened, and when it was last. */
  syncs: number
  lastSync: Date | undefined
  /** How often the file was written anew, and whether it is being. */
  compactions: number
  compacting: boolean
  /** Why the last compaction in the background came to nothing, or why nothing can be written, if so. */
  compactionError: string | undefined
  logError: string | undefined
}

export interface StoreOptions {
  /** Opens the process's store of this name: one store for all threads that open it. It lasts until the last lets go. */
  shared?: string | undefined
  /** The most bytes that the store may hold. On a store that is open already it replaces the limit. */
  memoryLimit?: number | null | undefined
}

export interface TableOptions<
  I extends Index = Index,
  K extends KeyEncoding = KeyEncoding,
  V extends ValueEncoding = ValueEncoding,
> {
  /** The index, `hash` unless told. A table keeps the one it was created with. */
  index?: I | undefined
  /** How this handle sees keys, `utf8` unless told. */
  keys?: K | undefined
  /** How this handle sees values, `utf8` unless told. */
  values?: V | undefined
}

/** A part of the keys in order. `prefix` stands alone; of `gt` and `gte`, and of `lt` and `lte`, there is at most one. */
export interface RangeOptions<K extends KeyEncoding = 'utf8'> {
  gt?: Input<K> | undefined
  gte?: Input<K> | undefined
  lt?: Input<K> | undefined
  lte?: Input<K> | undefined
  prefix?: Input<K> | undefined
}

export interface ScanOptions<K extends KeyEncoding = 'utf8'> extends RangeOptions<K> {
  /** From the last key down. */
  reverse?: boolean | undefined
  /** The most pairs. */
  limit?: number | undefined
}

/** A set of named tables, in memory, or also in a file where `open` made it. */
export class Store {
  constructor(options?: StoreOptions)

  /** A store from the bytes that `dump` gave, or from the file that `save` wrote. */
  static load(source: ArrayBufferView | string | URL): Store

  /** Opens the table, or creates it. */
  table<K extends KeyEncoding = 'utf8', V extends ValueEncoding = 'utf8'>(
    name: string,
    options: TableOptions<'sorted', K, V> & { index: 'sorted' },
  ): SortedTable<K, V>
  table<K extends KeyEncoding = 'utf8', V extends ValueEncoding = 'utf8'>(
    name: string,
    options?: TableOptions<'hash', K, V>,
  ): Table<K, V>
  table<K extends KeyEncoding = 'utf8', V extends ValueEncoding = 'utf8'>(
    name: string,
    options: TableOptions<Index, K, V>,
  ): Table<K, V> | SortedTable<K, V>

  /** The names and indexes of all tables, by name. */
  tables(): [name: string, index: Index][]

  /** Removes the table and its pairs; whether it was there. Handles of it find nothing from then on. */
  dropTable(name: string): boolean

  /** The bytes that the store holds. */
  readonly memory: number

  /** The most bytes that it may hold. A store that holds more already keeps its pairs, and refuses to grow. */
  get memoryLimit(): number | undefined
  set memoryLimit(limit: number | undefined | null)

  /** A batch of writes that are done all or not at all, to be filled and committed. */
  batch(): Batch
  /** The same, committed once `fill` has returned, and dropped where it throws: whether each write took effect. */
  batch(fill: (batch: Batch) => void): boolean[]

  /** The whole store as bytes. */
  dump(): Buffer

  /** The store's file; `undefined` in memory alone. */
  readonly path: string | undefined
  readonly durability: Durability
  readonly readOnly: boolean
  /** What a power cut had left unfinished at the end of the file when it was opened, and was cut off. */
  readonly torn: Place | undefined
  stats(): Stats

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

  /**
   * Lets go of the store: it, its tables, cursors, iterators and batches fail from now on. Resolves once all that was written
   * is on disk, and the file is let go where no other thread has it. A shared store stays with the others.
   */
  close(options?: SignalOptions): Promise<void>
  closeSync(): void
  readonly closed: boolean;
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: whatever its encodings
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
  /** Does all of them, in order: whether each took effect. Where one fails, none is done. Ends the batch. */
  commit(): boolean[]
}

declare const encodings: unique symbol

/** A named set of pairs under one index. */
export class Table<K extends KeyEncoding = 'utf8', V extends ValueEncoding = 'utf8'> {
  private constructor()

  /** For the compiler alone, which finds the encodings of a table by it. */
  readonly [encodings]?: { keys: K; values: V }

  readonly store: Store
  readonly name: string
  readonly index: Index
  /** The number of pairs. */
  readonly size: number
  /** The bytes that the table holds. */
  readonly memory: number

  /** Adds the pair where the key is absent; whether it was. */
  insert(key: Input<K>, value: Input<V>): boolean
  /** Replaces the value where the key is present; whether it was. */
  replace(key: Input<K>, value: Input<V>): boolean
  /** Gives the key this value, present or not: true. */
  upsert(key: Input<K>, value: Input<V>): boolean
  /** Removes the pair; whether it was there. */
  delete(key: Input<K>): boolean
  /** The key's value, `undefined` where it is absent. */
  select(key: Input<K>): Output<V> | undefined
  contains(key: Input<K>): boolean

  /** `insert` for each pair. All arguments are checked before the first write, as in all that ends in `Many`. */
  insertMany(pairs: Iterable<readonly [Input<K>, Input<V>]>): boolean[]
  replaceMany(pairs: Iterable<readonly [Input<K>, Input<V>]>): boolean[]
  upsertMany(pairs: Iterable<readonly [Input<K>, Input<V>]>): boolean[]
  deleteMany(keys: Iterable<Input<K>>): boolean[]
  containsMany(keys: Iterable<Input<K>>): boolean[]
  selectMany(keys: Iterable<Input<K>>): (Output<V> | undefined)[]

  /**
   * Adds to the value, which is a decimal integer in ASCII, and returns the sum; an absent key counts as 0. A sum past
   * `Number.MAX_SAFE_INTEGER` is exact in the table, and as a bigint; as a number it is rounded.
   */
  increment(key: Input<K>, by?: number): number
  increment(key: Input<K>, by: bigint): bigint
  incrementMany(amounts: Iterable<readonly [Input<K>, number]>): number[]
  incrementMany(amounts: Iterable<readonly [Input<K>, bigint]>): bigint[]

  /**
   * Gives the key a value, or removes it for none, where it has the expected value, or none; whether it did. With `json`
   * values are equal where their texts are.
   */
  compareAndSwap(key: Input<K>, expected: Input<V> | None<V>, value: Input<V> | None<V>): boolean
  compareAndSwapMany(swaps: Iterable<readonly [Input<K>, Input<V> | None<V>, Input<V> | None<V>]>): boolean[]

  /**
   * Replaces the value by what `change` makes of it, none for removing the pair; whether that changed anything. Where
   * another thread changes the value meanwhile, `change` is called again.
   */
  alter(key: Input<K>, change: (value: Output<V> | undefined) => Input<V> | None<V>): boolean

  /** Removes all pairs. */
  clear(): void

  /** As `select`. */
  get(key: Input<K>): Output<V> | undefined
  /** As `upsert`; returns the table. */
  set(key: Input<K>, value: Input<V>): this
  /** As `contains`. */
  has(key: Input<K>): boolean

  /**
   * Every pair, in the order of the keys where the index is sorted. The table may be written to meanwhile. A pair that is
   * there all the while comes exactly once. Pairs are read in blocks, so one that changes, comes or goes shows as before
   * or as after; unlike a `Map`'s, this iterator ends where pairs are added for as long as it runs. Strings come cut out of
   * a block of up to 8 KiB, which stays in memory for as long as any of them.
   */
  entries(): IterableIterator<[Output<K>, Output<V>]>
  keys(): IterableIterator<Output<K>>
  values(): IterableIterator<Output<V>>
  [Symbol.iterator](): IterableIterator<[Output<K>, Output<V>]>
  forEach(visit: (value: Output<V>, key: Output<K>, table: this) => void, thisArgument?: unknown): void
}

/** A table with a sorted index. On one with a hash index both calls fail with `TWINDEX_WRONG_INDEX`. */
export interface SortedTable<K extends KeyEncoding = 'utf8', V extends ValueEncoding = 'utf8'>
  extends Table<K, V> {
  /** A cursor before the first pair of the range, and after its last one, at once. */
  cursor(options?: RangeOptions<K>): Cursor<K, V>
  /** The pairs of the range, in order or in reverse. */
  scan(options?: ScanOptions<K>): IterableIterator<[Output<K>, Output<V>]>
}

/** A position in a sorted table: on the pair that it returned last. It holds no lock, and sees what was written before a call. */
export class Cursor<K extends KeyEncoding = 'utf8', V extends ValueEncoding = 'utf8'> {
  private constructor()

  readonly table: SortedTable<K, V>
  /** Moves to the next pair up and returns it; at the end it stays, and returns `undefined`. */
  scanAscNext(): [Output<K>, Output<V>] | undefined
  /** Moves to the next pair down and returns it; at the end it stays, and returns `undefined`. */
  scanDescNext(): [Output<K>, Output<V>] | undefined
  /** `scanAscNext` up to `limit` times. */
  scanAscNextMany(limit: number): [Output<K>, Output<V>][]
  /** `scanDescNext` up to `limit` times. */
  scanDescNextMany(limit: number): [Output<K>, Output<V>][]
}
