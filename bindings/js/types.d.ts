/// <reference lib="esnext.disposable" />
// Typings that the npm packages share. Each package adds its own store to `Table`.

/** The kind of index of a table: `hash` finds single keys, `sorted` also scans keys in the order of their bytes. */
export type Index = 'hash' | 'sorted'

/**
 * The codecs of keys:
 *
 * - `str`: strings.
 * - `bytes`: takes any view of bytes; returns a copy, in Node a `Buffer`. `view`: the same, always a `Uint8Array`.
 * - `int`: safe integers; `bigint`: bigints of 64 bits. Both are the same 8 bytes, which order as the numbers do.
 * - `tuple`: arrays of `null`, strings, numbers, bigints, views of bytes and arrays, which order item by item.
 * - Your own codec.
 */
export type KeyCodec = 'str' | 'bytes' | 'view' | 'int' | 'bigint' | 'tuple' | CustomCodec

/**
 * The codecs of values:
 *
 * - `str`, `bytes`, `view`: as for keys.
 * - `json`: JSON values.
 * - `msgpack`: MessagePack values. Integers past `Number.MAX_SAFE_INTEGER` are bigints, bytes are a `Uint8Array`, and an object
 *   with keys other than strings is a `Map`.
 * - `int`, `bigint`: decimal text, to which `increment` adds.
 * - Your own codec.
 */
export type ValueCodec = 'str' | 'bytes' | 'view' | 'json' | 'msgpack' | 'int' | 'bigint' | CustomCodec

/**
 * Your own codec: two functions that encode and decode, and the name that a table remembers:
 * `{ name: 'iso-date', encode: (date) => date.toJSON(), decode: (text) => new Date(text), format: 'str' }`.
 */
// biome-ignore lint/suspicious/noExplicitAny: any value has some codec
export interface CustomCodec<In = any, Out = any> {
  name: string
  encode(value: In): string | ArrayBufferView
  // biome-ignore lint/suspicious/noExplicitAny: it depends on `format`
  decode(stored: any): Out
  /** The type that `encode` returns and `decode` takes: `view` by default. */
  format?: 'str' | 'bytes' | 'view' | undefined
}

/** An item of a key that is a tuple. Integers past `Number.MAX_SAFE_INTEGER` come out as bigints. */
export type TupleItem = null | string | number | bigint | ArrayBufferView | readonly TupleItem[]
/** An item of a tuple that you read: bytes are a copy. */
export type TupleOutput = null | string | number | bigint | Uint8Array | TupleOutput[]

/** An object of a class of the host, if the program's typings have that class. */
export type Host<Name extends string, In = typeof globalThis> =
  In extends Record<Name, { prototype: infer T }> ? T : never

/** A `Buffer` in Node. */
export type BufferLike = [Host<'Buffer'>] extends [never] ? Uint8Array : Host<'Buffer'>

interface Inputs {
  str: string
  bytes: ArrayBufferView
  view: ArrayBufferView
  json: unknown
  msgpack: unknown
  int: number
  bigint: bigint
  tuple: readonly TupleItem[]
}

interface Outputs {
  str: string
  bytes: BufferLike
  view: Uint8Array
  // biome-ignore lint/suspicious/noExplicitAny: it is what JSON.parse returns
  json: any
  // biome-ignore lint/suspicious/noExplicitAny: as with JSON
  msgpack: any
  int: number
  bigint: bigint
  tuple: TupleOutput[]
}

/** Any codec. */
export type Codec = KeyCodec | ValueCodec

/** The type that a table with this codec takes. */
export type Input<C extends Codec> = C extends keyof Inputs
  ? Inputs[C]
  : C extends CustomCodec<infer In, unknown>
    ? In
    : never

/** The type that a table with this codec returns. */
export type Output<C extends Codec> = C extends keyof Outputs
  ? Outputs[C]
  : C extends CustomCodec<never, infer Out>
    ? Out
    : never

/** No value: `undefined` or `null`. With `json`, `msgpack` and your own codecs `null` is a value, so only `undefined`. */
export type None<C extends Codec> = C extends 'json' | 'msgpack' | CustomCodec ? undefined : undefined | null

/** Why a call failed. The codes are the same in every language. */
export type ErrorCode =
  /** An argument of a wrong type. A `TypeError`. */
  | 'TWINDEX_TYPE'
  /** An unknown or conflicting option, or a number out of range. A `RangeError`. */
  | 'TWINDEX_RANGE'
  /** The table's codec cannot encode a value, such as a lone surrogate, or cannot decode the stored bytes. */
  | 'TWINDEX_ENCODING'
  /** The store was closed, or the batch has ended. */
  | 'TWINDEX_CLOSED'
  /** The snapshot was closed, or the transaction has ended. */
  | 'TWINDEX_ENDED'
  /** Others changed what a transaction read, in each of its runs. Nothing was written. */
  | 'TWINDEX_CONFLICT'
  /** A transaction began in the function of another one of the same store. */
  | 'TWINDEX_IN_WRITE'
  /** A key of more than 65,535 bytes. */
  | 'TWINDEX_KEY_TOO_LONG'
  /** A value of more than 4 GiB - 1. */
  | 'TWINDEX_VALUE_TOO_LARGE'
  /** A table's name that is not 1 to 255 bytes long. */
  | 'TWINDEX_TABLE_NAME'
  /** The table has the other index. */
  | 'TWINDEX_WRONG_INDEX'
  /** The table's keys or values have another codec, or one that this package does not know. */
  | 'TWINDEX_WRONG_CODEC'
  /** The option `expires` contradicts the table. */
  | 'TWINDEX_WRONG_EXPIRY'
  /** A codec's name that is not 1 to 255 bytes long. */
  | 'TWINDEX_CODEC_NAME'
  /** There is no such table, and `create` is false. */
  | 'TWINDEX_NO_TABLE'
  /** An index that is neither `hash` nor `sorted`. */
  | 'TWINDEX_UNKNOWN_INDEX'
  /** The computation of a cache's value waits for the same value. */
  | 'TWINDEX_CIRCLE'
  /** A cache without a limit, or with one that cannot hold a pair. A `RangeError`. */
  | 'TWINDEX_CAPACITY'
  /** A time of zero or less, or of more than a thousand years. A `RangeError`. */
  | 'TWINDEX_TTL'
  /** The changed pair does not fit into the cache. The old one stays. */
  | 'TWINDEX_NO_ROOM'
  /** The table was dropped. */
  | 'TWINDEX_TABLE_DROPPED'
  /** The write would take the store past its memory limit, or the system or the module has no more memory. */
  | 'TWINDEX_MEMORY_LIMIT'
  /** `increment` met a value that is not a decimal integer of 64 bits. */
  | 'TWINDEX_NOT_AN_INTEGER'
  /** `increment` would leave the range of 64 bits. */
  | 'TWINDEX_OVERFLOW'
  /** The bytes are not a whole, undamaged dump. */
  | 'TWINDEX_CORRUPT'
  /** Reading or writing a file failed, or this place has no storage. */
  | 'TWINDEX_IO'
  /** Another process, tab or worker has the file open for writing, or this one has it with another durability. */
  | 'TWINDEX_IN_USE'
  /** Writing to the disk failed, now or earlier. All later writes are refused. Reads go on. */
  | 'TWINDEX_LOG_FAILED'
  /** A write to a store that was opened read-only, or to a table of a snapshot. */
  | 'TWINDEX_READ_ONLY'
  /** This kind of store or module, or a table in a transaction, cannot do that. */
  | 'TWINDEX_NOT_SUPPORTED'
  /** The call needs a file, and the store is in memory. */
  | 'TWINDEX_NO_FILE'
  /** A durability other than `none`, `everysec` and `always`. */
  | 'TWINDEX_UNKNOWN_DURABILITY'
  /** A batch was given a table of another store. */
  | 'TWINDEX_FOREIGN_TABLE'
  /** A value is not what a batch expects. Nothing was written. */
  | 'TWINDEX_UNEXPECTED'
  /** The file no longer has the changes after a position: `oldest` is the oldest that it has. */
  | 'TWINDEX_POSITION_GONE'
  /** A file with durability `none` has no log, and so no positions and no changes. */
  | 'TWINDEX_NO_LOG'
  /** A string that is not a position. */
  | 'TWINDEX_NOT_A_POSITION'
  /** No server, tab or worker took the write in time: it was not done. */
  | 'TWINDEX_UNAVAILABLE'
  /** A write was sent and no answer came: it may be done or not. */
  | 'TWINDEX_UNKNOWN_OUTCOME'
  /** Another copy of this package has a shared store of this name in the same process. */
  | 'TWINDEX_OTHER_COPY'
  /** A bug in Twindex. */
  | 'TWINDEX_BUG'

/** Any error except an argument error, which is a `TypeError` or a `RangeError` with a `code`. */
export class TwindexError extends Error {
  constructor(code: ErrorCode, message: string)
  readonly name: 'TwindexError'
  readonly code: ErrorCode
  /** The file. */
  readonly path?: string
  /** Of `TWINDEX_IN_USE`: the process that has the file. */
  readonly pid?: number
  /** Of `TWINDEX_POSITION_GONE`: the position of the call, and the oldest that the file has. */
  readonly position?: string
  readonly oldest?: string
  /** Of `TWINDEX_CORRUPT`: the offset of the damage. */
  readonly offset?: number
}

export interface StoreOptions {
  /** The most bytes that the store may hold. */
  memoryLimit?: number | null | undefined
}

export interface TableOptions<
  I extends Index = Index,
  K extends KeyCodec = KeyCodec,
  V extends ValueCodec = ValueCodec,
> {
  /** The index of a new table, `hash` by default. For an existing table another index is an error. */
  index?: I | undefined
  /**
   * The codec of the keys: by default the table's own, `str` for a new one. `bytes` and `view` return the stored bytes of any
   * table; another codec than the table's is an error.
   */
  keys?: K | undefined
  /** The codec of the values, as `keys`. */
  values?: V | undefined
  /** Whether the pairs of a new table expire. For an existing table the opposite is an error. */
  expires?: boolean | undefined
  /** False: if there is no such table, the error is `TWINDEX_NO_TABLE`. */
  create?: boolean | undefined
}

/** A range of keys. Use only `prefix`, or at most one of `gt` and `gte`, and one of `lt` and `lte`. */
export interface RangeOptions<K extends KeyCodec = 'str'> {
  gt?: Input<K> | undefined
  gte?: Input<K> | undefined
  lt?: Input<K> | undefined
  lte?: Input<K> | undefined
  prefix?: Input<K> | undefined
}

export interface ScanOptions<K extends KeyCodec = 'str'> extends RangeOptions<K> {
  /** From the last key down. */
  reverse?: boolean | undefined
  /** The most pairs. */
  limit?: number | undefined
}

/** A part of a file. */
export interface Place {
  readonly offset: number
  readonly bytes: number
}

/** The contents of a file. */
export interface Report {
  /** The version of the format. */
  readonly version: number
  readonly bytes: number
  readonly dumpBytes: number
  readonly logBytes: number
  /** Records in the dump and in the log. */
  readonly records: number
  readonly dumpPairs: number
  /** Operations in the log. */
  readonly operations: number
  /** The damaged places, in order. */
  readonly damage: readonly (Place & { readonly what: string })[]
  /** The incomplete last write that a crash left. It is not damage. */
  readonly torn: Place | undefined
}

/** Options for reading a file that you may not trust. */
export interface CheckOptions {
  /**
   * The most bytes of memory that the contents may take; more is `TWINDEX_MEMORY_LIMIT`. By default 256 MiB, or
   * 32 bytes for each byte of the file if that is more.
   */
  memoryLimit?: number | null | undefined
}

/** The tables that `recover` saved. */
export interface Recovery {
  readonly report: Report
  readonly tables: readonly { readonly name: string; readonly index: Index; readonly pairs: number }[]
}

/** The codec of values of a type of yours: `store.table<User>('users', { values: 'json' })`. */
export type Typed<T> = CustomCodec<T, T>

interface Tables<K extends KeyCodec, V extends ValueCodec> {
  store: { hash: Table<K, V>; sorted: SortedTable<K, V> }
  snapshot: { hash: SnapshotTable<K, V>; sorted: SortedSnapshotTable<K, V> }
  transaction: { hash: TransactionTable<K, V>; sorted: SortedTransactionTable<K, V> }
}
interface ExpiringTables<K extends KeyCodec, V extends ValueCodec> {
  store: { hash: ExpiringTable<K, V>; sorted: SortedExpiringTable<K, V> }
  snapshot: { hash: ExpiringSnapshotTable<K, V>; sorted: SortedExpiringSnapshotTable<K, V> }
  transaction: { hash: ExpiringTransactionTable<K, V>; sorted: SortedExpiringTransactionTable<K, V> }
}
type Expiring<
  K extends KeyCodec,
  V extends ValueCodec,
  In,
  I extends Index,
> = In extends keyof ExpiringTables<K, V> ? ExpiringTables<K, V>[In][I] : never
type Sorted = { index: 'sorted' }
type Expires = { expires: true }
/** Options with a codec whose values may be of a type of yours. */
type TypedOptions<I extends Index, K extends KeyCodec> = TableOptions<I, K, 'json' | 'msgpack'> & {
  values: 'json' | 'msgpack'
}

/** Opens a table. A store creates it if it is missing; snapshots and transactions do not. */
export interface OpenTable<In extends keyof Tables<KeyCodec, ValueCodec>> {
  <K extends KeyCodec = 'str', V extends ValueCodec = 'str', I extends Index = 'hash'>(
    name: string,
    options: TableOptions<I, K, V> & Expires,
  ): Expiring<K, V, In, I>
  <K extends KeyCodec = 'str', V extends ValueCodec = 'str', I extends Index = 'hash'>(
    name: string,
    options?: TableOptions<I, K, V>,
  ): Tables<K, V>[In][I]
  <T, K extends KeyCodec = 'str'>(
    name: string,
    options: TypedOptions<'sorted', K> & Sorted & Expires,
  ): Expiring<K, Typed<T>, In, 'sorted'>
  <T, K extends KeyCodec = 'str'>(
    name: string,
    options: TypedOptions<'hash', K> & Expires,
  ): Expiring<K, Typed<T>, In, 'hash'>
  <T, K extends KeyCodec = 'str'>(
    name: string,
    options: TypedOptions<'sorted', K> & Sorted,
  ): Tables<K, Typed<T>>[In]['sorted']
  <T, K extends KeyCodec = 'str'>(
    name: string,
    options: TypedOptions<'hash', K>,
  ): Tables<K, Typed<T>>[In]['hash']
}

/** The members that the stores of both packages share. */
export interface BaseStore {
  /** Opens the table, or creates it. */
  table: OpenTable<'store'>

  /** All tables as they are now, to read while others write. Until you close it, the store keeps the values that writes replace. */
  snapshot(): Snapshot

  /**
   * Runs `run`, then commits its writes to the tables of `tx`, all or none. If a value that it read has changed meanwhile, it runs
   * again, up to a thousand times; then the error is `TWINDEX_CONFLICT`. Returns the result of `run`, a promise if `run` is `async`.
   * If `run` throws, nothing is written. Nothing is locked while it runs.
   *
   * Do not begin another transaction of the same store in `run`: that is `TWINDEX_IN_WRITE`. After the first `await` only Node
   * detects it, and only in an `async` function.
   */
  transaction<R>(run: (tx: Transaction) => R): R

  /** The names and indexes of all tables, by name. */
  tables(): [name: string, index: Index][]

  /** Removes the table and its pairs. Returns whether there was one. Handles of it find nothing from then on. */
  dropTable(name: string): boolean

  /** The bytes in memory. */
  readonly memory: number

  /** The most bytes in memory. A store that already has more keeps its pairs, and refuses to grow. */
  get memoryLimit(): number | undefined
  set memoryLimit(limit: number | undefined | null)

  /** The whole store as bytes. */
  dump(): Promise<Uint8Array>
  dumpSync(): Uint8Array

  /** Closes the store: every later use of it, its tables, cursors and iterators is `TWINDEX_CLOSED`. */
  close(): Promise<void>
  closeSync(): void
  readonly closed: boolean
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
}

/** Return it from the function of `alter` to remove the pair. */
export const DELETE: unique symbol
/** Return it from the function of `alter` to change nothing. */
export const KEEP: unique symbol

declare const codecs: unique symbol

/** The reads of tables, tables of snapshots, and caches. */
interface ReadPairs<K extends KeyCodec, V extends ValueCodec> {
  /** For the type checker only. */
  readonly [codecs]?: { keys: K; values: V }

  /** The names of the codecs. */
  readonly codecs: { keys: string; values: string }
  /** The number of pairs. Expired pairs count until they are removed. */
  readonly size: number
  /** The bytes in memory. */
  readonly memory: number

  /** A copy of the key's value, or `undefined`. */
  select(key: Input<K>): Output<V> | undefined
  contains(key: Input<K>): boolean
  selectMany(keys: Iterable<Input<K>>): (Output<V> | undefined)[]

  /** As `select`. */
  get(key: Input<K>): Output<V> | undefined
  /** As `contains`. */
  has(key: Input<K>): boolean

  /**
   * Iterates over all pairs, in a sorted table in the order of the keys. You may write meanwhile: a pair that is present throughout
   * comes exactly once; one that changes comes as before or as after. Strings are parts of a block of up to 8 KiB, which stays in
   * memory as long as any of them.
   */
  entries(): IterableIterator<[Output<K>, Output<V>]>
  keys(): IterableIterator<Output<K>>
  values(): IterableIterator<Output<V>>
  [Symbol.iterator](): IterableIterator<[Output<K>, Output<V>]>
  forEach(visit: (value: Output<V>, key: Output<K>, all: this) => void, thisArgument?: unknown): void
}

/** The verbs that tables and caches share. */
interface Pairs<K extends KeyCodec, V extends ValueCodec> extends ReadPairs<K, V> {
  /** Removes the pair. Returns whether the key was present. */
  delete(key: Input<K>): boolean
  /** Like all `Many` forms it checks all arguments before the first write. */
  deleteMany(keys: Iterable<Input<K>>): boolean[]

  /**
   * Adds to the value, decimal text, and returns the sum. An absent key counts as 0. The stored sum is exact; returned as a number it
   * is rounded past `Number.MAX_SAFE_INTEGER`: pass a bigint for such sums. A pair keeps its time to live.
   */
  increment(key: Input<K>, by?: number): number
  increment(key: Input<K>, by: bigint): bigint

  /**
   * Writes `value` if the key has the value `expected`. `undefined` is an absent value, so it also inserts and removes. Returns whether
   * it took effect. `json` and `msgpack` values are compared by their stored bytes.
   */
  compareAndSwap(key: Input<K>, expected: Input<V> | None<V>, value: Input<V> | None<V>): boolean

  /**
   * Calls `change` with the value and writes the new one that it returns. `DELETE` removes the pair, `KEEP` changes nothing, returning
   * nothing is an error. If another thread changes the value meanwhile, `change` is called again. Returns whether a pair was written or
   * removed. A pair keeps its time to live.
   */
  alter(
    key: Input<K>,
    change: (value: Output<V> | undefined) => Input<V> | typeof DELETE | typeof KEEP,
  ): boolean

  /** Removes all pairs. A cache calls no listener and keeps its statistics. */
  clear(): void
}

/** More verbs of tables, in transactions too. */
interface Writes<K extends KeyCodec, V extends ValueCodec> {
  readonly name: string
  readonly index: Index

  /** Writes the pair if the key is absent. Returns whether it was. */
  insert(key: Input<K>, value: Input<V>): boolean
  /** Replaces the value if the key is present. Returns whether it was. */
  replace(key: Input<K>, value: Input<V>): boolean
  /** Writes the pair, whether the key is present or not. Returns true. */
  upsert(key: Input<K>, value: Input<V>): boolean
  /** As `upsert`; returns the table. */
  set(key: Input<K>, value: Input<V>): this

  /** Removes the pair and returns its value, `undefined` if the key was absent. A value that cannot be decoded stays. */
  take(key: Input<K>): Output<V> | undefined

  insertMany(pairs: Iterable<readonly [Input<K>, Input<V>]>): boolean[]
  replaceMany(pairs: Iterable<readonly [Input<K>, Input<V>]>): boolean[]
  upsertMany(pairs: Iterable<readonly [Input<K>, Input<V>]>): boolean[]
  containsMany(keys: Iterable<Input<K>>): boolean[]
  incrementMany(amounts: Iterable<readonly [Input<K>, number]>): number[]
  incrementMany(amounts: Iterable<readonly [Input<K>, bigint]>): bigint[]
  compareAndSwapMany(swaps: Iterable<readonly [Input<K>, Input<V> | None<V>, Input<V> | None<V>]>): boolean[]
}

/** A named set of pairs under one index. */
export interface Table<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends Pairs<K, V>,
    Writes<K, V> {}
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the class has what the interface says
export class Table<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> {
  protected constructor()

  /**
   * The changes that this process, in `twindex-wasm` this instance, makes from now on to keys that start with `prefix`, or to all
   * keys. The changes of one key come in order; batches and transactions come whole. It needs no file.
   */
  watch(prefix?: Input<K> | undefined, options?: WatchOptions): Watch<K, V>
}

/** A table with a sorted index. On one with a hash index these calls fail with `TWINDEX_WRONG_INDEX`. */
export interface SortedTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> extends Table<K, V> {
  /** A cursor: `scanAscNext` starts at the first pair of the range, `scanDescNext` at the last. */
  cursor(options?: RangeOptions<K>): Cursor<K, V>
  /** The pairs of the range, in order or in reverse. */
  scan(options?: ScanOptions<K>): IterableIterator<[Output<K>, Output<V>]>
  /** The pairs whose keys start with `prefix`, in order or in reverse. */
  prefix(
    prefix: Input<K>,
    options?: Pick<ScanOptions, 'reverse' | 'limit'>,
  ): IterableIterator<[Output<K>, Output<V>]>
  /** The pair with the least or the greatest key. */
  first(): [Output<K>, Output<V>] | undefined
  last(): [Output<K>, Output<V>] | undefined
  /** Removes that pair and returns it. A pair that cannot be decoded stays. Two threads never get the same pair. */
  popFirst(): [Output<K>, Output<V>] | undefined
  popLast(): [Output<K>, Output<V>] | undefined
  /** Removes the pairs of the range, or all. Returns their number. Other threads may see it half done. */
  deleteRange(options?: RangeOptions<K>): number
  /** Removes the pairs whose keys start with `prefix`. Returns their number. */
  deletePrefix(prefix: Input<K>): number
}

/**
 * A table whose pairs expire. Times are in milliseconds. Without a `ttl`, or with `Infinity`, a pair lives for ever. Expired pairs are
 * absent for all verbs, but count in `size` until they are removed. Batches refuse such a table.
 */
export class ExpiringTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> extends Table<K, V> {
  private constructor()

  /** How many milliseconds the pair still lives: `Infinity` if it does not expire, `undefined` if it is absent. */
  ttl(key: Input<K>): number | undefined
  /** Gives the pair a new time to live. Returns whether the key was present. */
  touch(key: Input<K>, ttl?: number): boolean
  /** Removes up to `limit` expired pairs, by default all. Returns their number; if it is less than `limit`, there are no more. */
  removeExpired(limit?: number): number

  insert(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): boolean
  replace(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): boolean
  upsert(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): boolean
  set(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): this
  /** `ttl` is for a pair that this adds; an existing pair keeps its own. So it can count the requests of a minute. */
  increment(key: Input<K>, by?: number, options?: CacheWriteOptions): number
  increment(key: Input<K>, by: bigint, options?: CacheWriteOptions): bigint
  insertMany(pairs: Iterable<readonly [Input<K>, Input<V>]>, options?: CacheWriteOptions): boolean[]
  replaceMany(pairs: Iterable<readonly [Input<K>, Input<V>]>, options?: CacheWriteOptions): boolean[]
  upsertMany(pairs: Iterable<readonly [Input<K>, Input<V>]>, options?: CacheWriteOptions): boolean[]
  incrementMany(amounts: Iterable<readonly [Input<K>, number]>, options?: CacheWriteOptions): number[]
  incrementMany(amounts: Iterable<readonly [Input<K>, bigint]>, options?: CacheWriteOptions): bigint[]
}

/** The same with a sorted index. */
export interface SortedExpiringTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends ExpiringTable<K, V>,
    Omit<SortedTable<K, V>, keyof Table> {}

/** A table of a snapshot, with the verbs that read. A write is `TWINDEX_READ_ONLY`. */
export interface SnapshotTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends ReadPairs<K, V>,
    Pick<Writes<K, V>, 'name' | 'index' | 'containsMany'> {}
export interface SortedSnapshotTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends SnapshotTable<K, V>,
    Pick<SortedTable<K, V>, 'cursor' | 'scan' | 'prefix' | 'first' | 'last'> {}

/** A table whose pairs expire, in a snapshot: the pairs that had not expired when it was taken. */
export interface ExpiringSnapshotTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends SnapshotTable<K, V>,
    Pick<ExpiringTable<K, V>, 'ttl'> {}
export interface SortedExpiringSnapshotTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends SortedSnapshotTable<K, V>,
    Pick<ExpiringTable<K, V>, 'ttl'> {}

/** All tables of a store as they were at one moment. It never has half of a batch or a transaction. */
export class Snapshot {
  private constructor()

  table: OpenTable<'snapshot'>
  /** The names and indexes of its tables. */
  tables(): [name: string, index: Index][]
  /** Its place in the history of a store in a file: `changes(position)` has exactly the changes after the snapshot. */
  readonly position: string
  /** Whether it or its store was closed. */
  readonly closed: boolean
  /** Frees its memory. Every later use of it, its tables, cursors and iterators is `TWINDEX_ENDED`. */
  close(): void
  [Symbol.dispose](): void
}

/**
 * A table in a transaction. It sees its own writes at once; others see them after the commit. A hash table cannot be iterated here,
 * because any write to it would be a conflict.
 */
export interface TransactionTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends Omit<Pairs<K, V>, 'size' | 'memory' | 'clear' | 'forEach' | Walks>,
    Omit<Writes<K, V>, 'set'> {
  set(key: Input<K>, value: Input<V>): this
}
type Walks = 'entries' | 'keys' | 'values' | typeof Symbol.iterator
export interface SortedTransactionTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends TransactionTable<K, V>,
    Omit<SortedTable<K, V>, keyof Table | 'cursor'>,
    Pick<ReadPairs<K, V>, Walks> {
  forEach(visit: (value: Output<V>, key: Output<K>, all: this) => void, thisArgument?: unknown): void
}

type TimedOne = 'insert' | 'replace' | 'upsert' | 'increment'
type Timed = TimedOne | `${TimedOne}Many`
/** A table whose pairs expire, in a transaction. */
export interface ExpiringTransactionTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends Omit<TransactionTable<K, V>, Timed | 'set'>,
    Pick<ExpiringTable<K, V>, Timed | 'ttl' | 'touch'> {
  set(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): this
}
export interface SortedExpiringTransactionTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends ExpiringTransactionTable<K, V>,
    Omit<SortedTransactionTable<K, V>, keyof TransactionTable> {}

/** The argument of a transaction's function. It ends with that function. */
export class Transaction {
  private constructor()

  table: OpenTable<'transaction'>
  /** Whether it has ended: then every use of it is `TWINDEX_ENDED`. */
  readonly closed: boolean
}

/** The limits and times of a cache. Times are in milliseconds, `Infinity` is for ever. */
export interface CacheBounds {
  /** The most bytes of memory, the cache's own structures included. */
  capacity?: number | undefined
  /** The most pairs. A cache has this, a `capacity` or both. */
  maxEntries?: number | undefined
  /** As `maxEntries`, the name in lru-cache. */
  max?: number | undefined
  /** How long a pair lives after its last write. The `ttl` of a write comes first. */
  ttl?: number | undefined
  /** How long a pair lives after it was last written or read. It may go up to a sixty-fourth of this time early. */
  timeToIdle?: number | undefined
  /** For how long after its expiry `fetch` and `getOrCompute` still return a value, while one caller computes the new one. */
  staleFor?: number | undefined
}

export interface CacheOptions<K extends KeyCodec = KeyCodec, V extends ValueCodec = ValueCodec>
  extends CacheBounds {
  /** The codec of the keys, `str` by default. */
  keys?: K | undefined
  /** The codec of the values, `str` by default. */
  values?: V | undefined
  /** The function that `fetch` calls for an absent value. */
  fetchMethod?: FetchMethod<K, V> | undefined
  /**
   * Called for each pair that was evicted or has expired, in the thread that made the cache: after a write of that thread before it
   * returns, otherwise soon after. An exception goes to the caller of that write, several as one `AggregateError`; otherwise it is
   * uncaught.
   */
  onEvict?: ((key: Output<K>, value: Output<V>, cause: EvictionCause) => void) | undefined
}

/** Why a pair was removed: the cache was full, or it expired. */
export type EvictionCause = 'size' | 'expired'

/** `options.ttl` is the time to live of the new value; the method may change it. */
export type FetchMethod<K extends KeyCodec, V extends ValueCodec> = (
  key: Input<K>,
  oldValue: Output<V> | undefined,
  // biome-ignore lint/suspicious/noExplicitAny: the `context` of `fetch`
  how: { signal: Host<'AbortSignal'> | undefined; options: { ttl: number | undefined }; context: any },
) => Input<V> | undefined | Promise<Input<V> | undefined>

export interface CacheWriteOptions {
  /** How many milliseconds the pair lives, `Infinity` for ever. */
  ttl?: number | undefined
}

export interface CacheFetchOptions extends CacheWriteOptions {
  /** Calls `fetchMethod` even if the key has a value. */
  forceRefresh?: boolean | undefined
  /** Passed to `fetchMethod`. */
  signal?: Host<'AbortSignal'> | undefined
  context?: unknown
}

/** Counts since the cache was made. */
export interface CacheStats {
  /** Look-ups that found a pair, and those that did not. `peek`, `has` and `ttl` do not count. */
  hits: number
  misses: number
  /** Pairs written, evicted because the cache was full, and expired. */
  writes: number
  evictions: number
  expirations: number
  /** Writes of pairs that were too large. */
  rejected: number
}

/**
 * A cache bounded by bytes or by entries: it evicts pairs instead of refusing writes, and pairs may expire. Eviction weighs how
 * often and how recently a pair was used, so it need not be the least recently used one.
 */
export interface Cache<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> extends Pairs<K, V> {}
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the class has what the interface says
export class Cache<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> {
  constructor(options: CacheOptions<K, V>)

  /** The most bytes, `undefined` if only pairs are counted. */
  readonly capacity: number | undefined
  /** The most pairs, `undefined` if only bytes are counted. */
  readonly maxEntries: number | undefined
  readonly max: number | undefined
  stats(): CacheStats

  /** Writes the pair; `undefined` removes it. Returns the cache. */
  set(key: Input<K>, value: Input<V> | undefined, options?: CacheWriteOptions): this
  /** As `get`, but not counted as a use of the pair. */
  peek(key: Input<K>): Output<V> | undefined
  /** How many milliseconds the pair still lives: `Infinity` if it does not expire, `undefined` if it is absent. */
  ttl(key: Input<K>): number | undefined
  /** The same, with 0 if it is absent, as in lru-cache. */
  getRemainingTTL(key: Input<K>): number
  /** Gives the pair a new time to live in milliseconds, or the cache's `ttl`. Returns whether the key was present. */
  touch(key: Input<K>, ttl?: number): boolean

  /** Writes the pair if the key is absent. Returns whether it was. */
  insert(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): boolean
  /** Replaces the value if the key is present. Returns whether it was. */
  replace(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): boolean
  /** Writes the pair, whether the key is present or not. Returns false, and changes nothing, if the pair is too large. */
  upsert(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): boolean
  insertMany(pairs: Iterable<readonly [Input<K>, Input<V>]>, options?: CacheWriteOptions): boolean[]
  replaceMany(pairs: Iterable<readonly [Input<K>, Input<V>]>, options?: CacheWriteOptions): boolean[]
  upsertMany(pairs: Iterable<readonly [Input<K>, Input<V>]>, options?: CacheWriteOptions): boolean[]

  /** Changes the capacity in bytes. Evicts the pairs that no longer fit before it returns. */
  shrinkTo(capacity: number): void

  /**
   * The key's value. If it is absent, calls `fetchMethod` and caches its result. Other calls for the same key wait for that
   * computation, in all threads that share the cache; its error reaches all of them. Not cached are errors, `undefined`, values that
   * are too large, and values whose key is written or deleted meanwhile. If the signal aborts, this call rejects; the computation
   * goes on.
   */
  fetch(key: Input<K>, options?: CacheFetchOptions): Promise<Output<V> | Input<V> | undefined>
  /**
   * The same with the function of this call. A computation that waits for its own key fails with `TWINDEX_CIRCLE`; in `twindex-wasm` it
   * waits for ever if it does so after its first `await`.
   */
  getOrCompute(
    key: Input<K>,
    compute: () => Input<V> | Promise<Input<V>>,
    options?: CacheWriteOptions,
  ): Promise<Output<V> | Input<V>>
}

/** A position in a sorted table: on the pair that it returned last. It holds no lock, and each call sees all earlier writes. */
export class Cursor<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> {
  private constructor()

  readonly table: SortedTable<K, V>
  /** Moves just before the first pair at or after this key: the next step up returns that pair, the next step down the one before. */
  seek(key: Input<K>): void
  /** The key of the pair that it is on, `undefined` before the first step; and the current value of this key. */
  readonly key: Output<K> | undefined
  readonly value: Output<V> | undefined
  /** Moves to the next pair up and returns it; at the end it stays, and returns `undefined`. */
  scanAscNext(): [Output<K>, Output<V>] | undefined
  /** Moves to the next pair down and returns it; at the end it stays, and returns `undefined`. */
  scanDescNext(): [Output<K>, Output<V>] | undefined
  /** `scanAscNext` up to `limit` times. */
  scanAscNextMany(limit: number): [Output<K>, Output<V>][]
  /** `scanDescNext` up to `limit` times. */
  scanDescNextMany(limit: number): [Output<K>, Output<V>][]
}

export interface WatchOptions {
  /** The most unread changes that it holds: by default 16,384. More are counted, and come as `lost`. */
  maxChanges?: number | undefined
  /** The most bytes of these changes: by default 16 MiB. */
  capacity?: number | undefined
  /** Ends the iteration when it aborts: a call that waits then rejects with the signal's reason. */
  signal?: Host<'AbortSignal'> | undefined
}

/** A change of a watch. `lost` counts the changes that are missing here: read the table again. */
export type Watched<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> = { readonly table: string } & (
  | { readonly kind: 'put'; readonly key: Output<K>; readonly value: Output<V>; readonly expires?: number }
  | { readonly kind: 'delete'; readonly key: Output<K> }
  | { readonly kind: 'drop' | 'clear' }
  | { readonly kind: 'lost'; readonly count: number }
)

/** The changes of a table's keys, as an async iterator. It ends when its store is closed or the table is dropped. */
export class Watch<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  implements AsyncIterableIterator<Watched<K, V>>
{
  private constructor()

  /** Its table; `undefined` after its end. */
  readonly table: Table<K, V> | undefined
  /** Waits for the next change. */
  next(): Promise<IteratorResult<Watched<K, V>, undefined>>
  /** The next change, or `undefined` if there is none yet. */
  poll(): Watched<K, V> | undefined
  /** Waits for the next change, up to this many milliseconds; then `undefined`. */
  wait(timeout?: number): Promise<Watched<K, V> | undefined>
  /** Ends the iteration and the calls that wait. */
  close(): void
  return(value?: unknown): Promise<IteratorResult<Watched<K, V>, undefined>>
  [Symbol.asyncIterator](): this
  [Symbol.asyncDispose](): Promise<void>
}
