/// <reference lib="esnext.disposable" />
// What the typings of both npm packages share. The store that a table is of differs: each package adds it to `Table`.

/** The kind of index of a table: `hash` finds single keys, `sorted` also scans keys in the order of their bytes. */
export type Index = 'hash' | 'sorted'

/**
 * How keys are seen:
 *
 * - `str`: strings.
 * - `bytes`: any view of bytes in; a copy out, a `Buffer` where there is one, as in Node. `view`: the same, always a `Uint8Array`.
 * - `int`: safe integers; `bigint`: bigints of 64 bits. Both are the same 8 bytes, which order as the numbers do.
 * - `tuple`: arrays of `null`, strings, numbers, bigints, views of bytes and arrays, which order item by item.
 * - A codec of your own.
 */
export type KeyCodec = 'str' | 'bytes' | 'view' | 'int' | 'bigint' | 'tuple' | CustomCodec

/**
 * How values are seen: `str`, `bytes` and `view` as keys are; `json` as whatever JSON can say; `msgpack` as whatever
 * MessagePack can say, where integers past `Number.MAX_SAFE_INTEGER` are bigints, bytes are a `Uint8Array`, and an
 * object whose keys are not all strings is a `Map`; `int` and `bigint` as decimal text, which is what `increment` adds
 * to; or a codec of your own.
 */
export type ValueCodec = 'str' | 'bytes' | 'view' | 'json' | 'msgpack' | 'int' | 'bigint' | CustomCodec

/**
 * Two functions that turn what you have into what is stored, and back, and the name by which a table remembers them:
 * `{ name: 'iso-date', encode: (date) => date.toJSON(), decode: (text) => new Date(text), format: 'str' }`.
 */
// biome-ignore lint/suspicious/noExplicitAny: any value has some codec
export interface CustomCodec<In = any, Out = any> {
  name: string
  encode(value: In): string | ArrayBufferView
  // biome-ignore lint/suspicious/noExplicitAny: it is what `format` says
  decode(stored: any): Out
  /** What `encode` makes and `decode` takes: `view` by default. */
  format?: 'str' | 'bytes' | 'view' | undefined
}

/** An item of a key that is a tuple. Integers past `Number.MAX_SAFE_INTEGER` come out as bigints. */
export type TupleItem = null | string | number | bigint | ArrayBufferView | readonly TupleItem[]
/** What of a tuple comes out: views of bytes as copies. */
export type TupleOutput = null | string | number | bigint | Uint8Array | TupleOutput[]

/** An object of one of the host's own classes, as far as a program's typings know that. */
export type Host<Name extends string, In = typeof globalThis> =
  In extends Record<Name, { prototype: infer T }> ? T : never

/** A `Buffer` where there is one, as in Node. */
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

/** What a table with this codec takes. */
export type Input<C extends Codec> = C extends keyof Inputs
  ? Inputs[C]
  : C extends CustomCodec<infer In, unknown>
    ? In
    : never

/** What a table with this codec gives. */
export type Output<C extends Codec> = C extends keyof Outputs
  ? Outputs[C]
  : C extends CustomCodec<never, infer Out>
    ? Out
    : never

/** What stands for no value: with `json`, `msgpack` and a codec of your own, only `undefined`, because there `null` is a value. */
export type None<C extends Codec> = C extends 'json' | 'msgpack' | CustomCodec ? undefined : undefined | null

/** Why a call failed, the same names in every language. */
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
  /** The pairs of the table expire, and `expires` says that they do not, or the other way round. */
  | 'TWINDEX_WRONG_EXPIRY'
  /** A codec's name that is not 1 to 255 bytes long. */
  | 'TWINDEX_CODEC_NAME'
  /** There is no such table, and `create` is false. */
  | 'TWINDEX_NO_TABLE'
  /** A name that is neither `hash` nor `sorted`. */
  | 'TWINDEX_UNKNOWN_INDEX'
  /** The computation of a cache's value waits for that very value. */
  | 'TWINDEX_CIRCLE'
  /** A cache has no bound, or one that cannot hold a pair. A `RangeError`. */
  | 'TWINDEX_CAPACITY'
  /** A time of zero or less, or of more than a thousand years. A `RangeError`. */
  | 'TWINDEX_TTL'
  /** A change of a pair does not fit into the cache. The pair is as it was. */
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
  /** Reading or writing a file failed, or there is no storage here. */
  | 'TWINDEX_IO'
  /** Another process, tab or worker has the file open for writing, or this one has it with another durability. */
  | 'TWINDEX_IN_USE'
  /** Writing to the disk failed, now or earlier: nothing more can be kept. Reads go on. */
  | 'TWINDEX_LOG_FAILED'
  /** A write to a store that was opened for reading alone, or to a snapshot's table. */
  | 'TWINDEX_READ_ONLY'
  /** This kind of store or module, or a table in a transaction, cannot do that. */
  | 'TWINDEX_NOT_SUPPORTED'
  /** The call needs a file, and the store is in memory. */
  | 'TWINDEX_NO_FILE'
  /** A name that is none of `none`, `everysec` and `always`. */
  | 'TWINDEX_UNKNOWN_DURABILITY'
  /** A batch was given a table of another store. */
  | 'TWINDEX_FOREIGN_TABLE'
  /** What a batch expected is not so. Nothing of it was done. */
  | 'TWINDEX_UNEXPECTED'
  /** The file no longer has the changes after a position: `oldest` is the oldest that it has. */
  | 'TWINDEX_POSITION_GONE'
  /** A file with durability `none` has no log, and so no positions and no changes. */
  | 'TWINDEX_NO_LOG'
  /** A string that is no position of a store. */
  | 'TWINDEX_NOT_A_POSITION'
  /** Nobody took the write in time: it was not done. */
  | 'TWINDEX_UNAVAILABLE'
  /** A write was sent and no answer came: it may be done or not. */
  | 'TWINDEX_UNKNOWN_OUTCOME'
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
  /** Of `TWINDEX_POSITION_GONE`: the position of the call, and the oldest that the file has. */
  readonly position?: string
  readonly oldest?: string
  /** Of `TWINDEX_CORRUPT`: where the file is damaged, in bytes from its start. */
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
  /** The index of a new table, `hash` by default. A table that is there keeps its own; another one is an error. */
  index?: I | undefined
  /**
   * How this handle sees keys. A table remembers its codecs: by default one that is there has its own, and a new one gets
   * `str`. `bytes` and `view` show what is stored in any table; another codec than the table's is an error.
   */
  keys?: K | undefined
  /** How this handle sees values, as `keys`. */
  values?: V | undefined
  /** Whether the pairs of a new table expire. A table that is there keeps its own; the other one is an error. */
  expires?: boolean | undefined
  /** False: if there is no such table, the error is `TWINDEX_NO_TABLE`. */
  create?: boolean | undefined
}

/** A part of the keys in order. `prefix` stands alone; of `gt` and `gte`, and of `lt` and `lte`, there is at most one. */
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

/** What is in a file. */
export interface Report {
  /** The version of its format. */
  readonly version: number
  readonly bytes: number
  readonly dumpBytes: number
  readonly logBytes: number
  /** Records in the dump and in the log. */
  readonly records: number
  readonly dumpPairs: number
  /** Operations in the log. */
  readonly operations: number
  /** What is damaged, from the start of the file to its end. */
  readonly damage: readonly (Place & { readonly what: string })[]
  /** What a power cut left unfinished: no damage. */
  readonly torn: Place | undefined
}

/** Options of what reads a file that may come from a stranger. */
export interface CheckOptions {
  /**
   * The most bytes of memory that what is in the file may take; more is `TWINDEX_MEMORY_LIMIT`. By default 256 MiB, or
   * 32 bytes for each byte of the file if that is more.
   */
  memoryLimit?: number | null | undefined
}

/** What was saved of a damaged file. */
export interface Recovery {
  readonly report: Report
  readonly tables: readonly { readonly name: string; readonly index: Index; readonly pairs: number }[]
}

/** The codec of values whose type the program knows: `store.table<User>('users', { values: 'json' })`. */
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
/** Options that name a codec whose values may be of a type that the program knows. */
type TypedOptions<I extends Index, K extends KeyCodec> = TableOptions<I, K, 'json' | 'msgpack'> & {
  values: 'json' | 'msgpack'
}

/** A table of a store, or of a snapshot or in a transaction, which create none. */
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

  /** All tables as they are now, to read while others write. The store keeps what writes replace until you close it. */
  snapshot(): Snapshot

  /**
   * Runs `run`, then commits what it wrote with `tx`, all of it or nothing. If something that it read has changed meanwhile, `run`
   * runs again, up to a thousand times; then the error is `TWINDEX_CONFLICT`. Returns what `run` returns, a promise if `run` is
   * `async`. If `run` throws, nothing is written. Nothing is locked while it runs.
   *
   * Begin no other transaction of the same store in `run`: that is `TWINDEX_IN_WRITE`. After `run` has waited, only Node can tell,
   * and only if `run` is an `async` function.
   */
  transaction<R>(run: (tx: Transaction) => R): R

  /** The names and indexes of all tables, by name. */
  tables(): [name: string, index: Index][]

  /** Removes the table and its pairs; whether it was there. Handles of it find nothing from then on. */
  dropTable(name: string): boolean

  /** The bytes that the store holds. */
  readonly memory: number

  /** The most bytes that it may hold. A store that holds more already keeps its pairs, and refuses to grow. */
  get memoryLimit(): number | undefined
  set memoryLimit(limit: number | undefined | null)

  /** The whole store as bytes. */
  dump(): Promise<Uint8Array>
  dumpSync(): Uint8Array

  /** Lets go of the store: from now on every use of it, its tables, cursors and iterators is `TWINDEX_CLOSED`. */
  close(): Promise<void>
  closeSync(): void
  readonly closed: boolean
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
}

/** A function that `alter` calls returns it to remove the pair. */
export const DELETE: unique symbol
/** A function that `alter` calls returns it to leave the pair as it is, or absent. */
export const KEEP: unique symbol

declare const codecs: unique symbol

/** The reads of tables, tables of snapshots, and caches. */
interface ReadPairs<K extends KeyCodec, V extends ValueCodec> {
  /** For the compiler alone, which finds the codecs by it. */
  readonly [codecs]?: { keys: K; values: V }

  /** The names of the codecs that are remembered. */
  readonly codecs: { keys: string; values: string }
  /** The number of pairs. In a cache an expired one counts until it is removed, though it is never returned. */
  readonly size: number
  /** The bytes that it holds, and a cache all that it takes. */
  readonly memory: number

  /** The key's value, `undefined` where it is absent. What you get is always a copy. */
  select(key: Input<K>): Output<V> | undefined
  contains(key: Input<K>): boolean
  selectMany(keys: Iterable<Input<K>>): (Output<V> | undefined)[]

  /** As `select`. */
  get(key: Input<K>): Output<V> | undefined
  /** As `contains`. */
  has(key: Input<K>): boolean

  /**
   * Every pair, in the order of the keys where the index is sorted. It may be written to meanwhile. A pair that is there all the
   * while comes exactly once. Pairs are read in blocks, so one that changes, comes or goes shows as before or as after; unlike a
   * `Map`'s, this iterator ends where pairs are added for as long as it runs. Strings come cut out of a block of up to 8 KiB,
   * which stays in memory for as long as any of them.
   */
  entries(): IterableIterator<[Output<K>, Output<V>]>
  keys(): IterableIterator<Output<K>>
  values(): IterableIterator<Output<V>>
  [Symbol.iterator](): IterableIterator<[Output<K>, Output<V>]>
  forEach(visit: (value: Output<V>, key: Output<K>, all: this) => void, thisArgument?: unknown): void
}

/** The verbs that tables and caches share. */
interface Pairs<K extends KeyCodec, V extends ValueCodec> extends ReadPairs<K, V> {
  /** Removes the pair; whether it was there. */
  delete(key: Input<K>): boolean
  /** As all that ends in `Many`, it checks all arguments before the first write. */
  deleteMany(keys: Iterable<Input<K>>): boolean[]

  /**
   * Adds to the value, which is a decimal integer in ASCII, and returns the sum; an absent key counts as 0. A sum past
   * `Number.MAX_SAFE_INTEGER` is exact where it is kept, and as a bigint; as a number it is rounded. A pair keeps the time at which
   * it expires.
   */
  increment(key: Input<K>, by?: number): number
  increment(key: Input<K>, by: bigint): bigint

  /**
   * Gives the key a value, or removes it for none, where it has the expected value, or none; whether it did. With `json`
   * and `msgpack` values are equal where what is stored is.
   */
  compareAndSwap(key: Input<K>, expected: Input<V> | None<V>, value: Input<V> | None<V>): boolean

  /**
   * Replaces the value by what `change` makes of it: a new value, `DELETE` for none, or `KEEP` for what is there; whether
   * that changed anything. A change that returns nothing is an error. Where another thread changes the value meanwhile,
   * `change` is called again. A pair keeps the time at which it expires.
   */
  alter(
    key: Input<K>,
    change: (value: Output<V> | undefined) => Input<V> | typeof DELETE | typeof KEEP,
  ): boolean

  /** Removes all pairs. A cache tells no listener, and its counts go on. */
  clear(): void
}

/** The verbs that tables have beyond these, in transactions too. */
interface Writes<K extends KeyCodec, V extends ValueCodec> {
  readonly name: string
  readonly index: Index

  /** Adds the pair where the key is absent; whether it was. */
  insert(key: Input<K>, value: Input<V>): boolean
  /** Replaces the value where the key is present; whether it was. */
  replace(key: Input<K>, value: Input<V>): boolean
  /** Gives the key this value, present or not: true. */
  upsert(key: Input<K>, value: Input<V>): boolean
  /** As `upsert`; returns the table. */
  set(key: Input<K>, value: Input<V>): this

  /** Removes the pair and returns its value, `undefined` where the key was absent. A value that cannot be decoded stays. */
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
   * The changes that this process or instance makes from now on to keys that start with `prefix`, or to all keys, in the order in
   * which each key changes. It needs no file. It sees writes of all threads, batches and transactions as a whole, and `clear` and
   * `dropTable`.
   */
  watch(prefix?: Input<K> | undefined, options?: WatchOptions): Watch<K, V>
}

/** A table with a sorted index. On one with a hash index these calls fail with `TWINDEX_WRONG_INDEX`. */
export interface SortedTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> extends Table<K, V> {
  /** A cursor before the first pair of the range, and after its last one, at once. */
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
  /** Removes that pair and returns it. One that cannot be decoded stays. Each of several threads gets another pair. */
  popFirst(): [Output<K>, Output<V>] | undefined
  popLast(): [Output<K>, Output<V>] | undefined
  /** Removes the pairs of the range, or all pairs; how many. It is no batch: others may see some gone and some not. */
  deleteRange(options?: RangeOptions<K>): number
  /** Removes the pairs whose keys start with `prefix`; how many. */
  deletePrefix(prefix: Input<K>): number
}

/**
 * A table whose pairs expire. Times are in milliseconds. Without a `ttl` a write is for ever, as with `Infinity`. Expired pairs are
 * absent for all verbs, though they count in `size` until they are removed. Batches refuse it.
 */
export class ExpiringTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> extends Table<K, V> {
  private constructor()

  /** How many milliseconds the pair still lives: `Infinity` where it stays, `undefined` where it is absent. */
  ttl(key: Input<K>): number | undefined
  /** Gives the pair so many milliseconds from now on; whether it was there. */
  touch(key: Input<K>, ttl?: number): boolean
  /** Removes up to so many expired pairs, by default all; how many. Fewer than `limit` means that there are no more. */
  removeExpired(limit?: number): number

  insert(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): boolean
  replace(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): boolean
  upsert(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): boolean
  set(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): this
  /** The `ttl` is that of a pair that is added. One that is there keeps its time, so this counts requests by the minute. */
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

/** A table whose pairs expire as a snapshot has it: with the pairs that had not expired when it was taken. */
export interface ExpiringSnapshotTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends SnapshotTable<K, V>,
    Pick<ExpiringTable<K, V>, 'ttl'> {}
export interface SortedExpiringSnapshotTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  extends SortedSnapshotTable<K, V>,
    Pick<ExpiringTable<K, V>, 'ttl'> {}

/** All tables of a store as they were at one moment, without half of a batch or a transaction. */
export class Snapshot {
  private constructor()

  table: OpenTable<'snapshot'>
  /** The names and indexes of its tables. */
  tables(): [name: string, index: Index][]
  /** Its place in the history of a store with a file: `changes(position)` gives exactly what came after the snapshot. */
  readonly position: string
  /** Whether it or its store was closed. */
  readonly closed: boolean
  /** Frees the memory kept for it. From then on it, its tables, cursors and iterators are `TWINDEX_ENDED`. */
  close(): void
  [Symbol.dispose](): void
}

/**
 * A table in a transaction. Its reads see its writes at once, others after the commit. One with a hash index cannot be iterated:
 * any write to the table would be a conflict.
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

/** What bounds a cache, and its times, all in milliseconds. `Infinity` is for ever. */
export interface CacheBounds {
  /** The most bytes of memory that it takes, all that it needs for itself included. */
  capacity?: number | undefined
  /** The most pairs. A cache has this, a `capacity` or both. */
  maxEntries?: number | undefined
  /** As `maxEntries`, the name in lru-cache. */
  max?: number | undefined
  /** How long a pair lives after its last write, unless that says otherwise. */
  ttl?: number | undefined
  /** How long a pair lives after it was last written or read. It may go up to a sixty-fourth of this time early. */
  timeToIdle?: number | undefined
  /** For how long after its expiry `fetch` and `getOrCompute` still return a value, while one caller computes the new one. */
  staleFor?: number | undefined
}

export interface CacheOptions<K extends KeyCodec = KeyCodec, V extends ValueCodec = ValueCodec>
  extends CacheBounds {
  /** How this handle sees keys, `str` by default. */
  keys?: K | undefined
  /** How this handle sees values, `str` by default. */
  values?: V | undefined
  /** What `fetch` calls for a value that is absent. */
  fetchMethod?: FetchMethod<K, V> | undefined
  /**
   * Is called for each pair that was evicted or has expired, in the thread that made the cache: when a write of that thread has
   * taken effect, else soon after. What it throws goes to the caller of that write, several errors as one `AggregateError`, once all
   * pairs are told; else it is an uncaught exception.
   */
  onEvict?: ((key: Output<K>, value: Output<V>, cause: EvictionCause) => void) | undefined
}

/** Why a pair was removed that nobody deleted: there was no room for all pairs, or its time was over. */
export type EvictionCause = 'size' | 'expired'

/** `options.ttl` is the time to live that the value will have; the method may set another. */
export type FetchMethod<K extends KeyCodec, V extends ValueCodec> = (
  key: Input<K>,
  oldValue: Output<V> | undefined,
  // biome-ignore lint/suspicious/noExplicitAny: whatever `fetch` was given
  how: { signal: Host<'AbortSignal'> | undefined; options: { ttl: number | undefined }; context: any },
) => Input<V> | undefined | Promise<Input<V> | undefined>

export interface CacheWriteOptions {
  /** How many milliseconds the pair lives, `Infinity` for ever. */
  ttl?: number | undefined
}

export interface CacheFetchOptions extends CacheWriteOptions {
  /** Calls `fetchMethod` also where the key has a value. */
  forceRefresh?: boolean | undefined
  /** Is passed on to `fetchMethod`. */
  signal?: Host<'AbortSignal'> | undefined
  context?: unknown
}

/** What a cache has counted since it was made. */
export interface CacheStats {
  /** Look-ups that found a pair, and those that found none. `peek`, `has` and `ttl` do not count. */
  hits: number
  misses: number
  /** Pairs written, evicted because there was no room, and removed because their time was over. */
  writes: number
  evictions: number
  expirations: number
  /** Writes that were not kept, because the pair was too large. */
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

  /** The most bytes, `undefined` where only pairs are counted. */
  readonly capacity: number | undefined
  /** The most pairs, `undefined` where only bytes are counted. */
  readonly maxEntries: number | undefined
  readonly max: number | undefined
  stats(): CacheStats

  /** Gives the key a value, `undefined` to remove it; returns the cache. */
  set(key: Input<K>, value: Input<V> | undefined, options?: CacheWriteOptions): this
  /** As `get`, which is not counted as a use of the pair. */
  peek(key: Input<K>): Output<V> | undefined
  /** How many milliseconds the pair still lives: `Infinity` where it does not expire, `undefined` where it is absent. */
  ttl(key: Input<K>): number | undefined
  /** The same, with 0 where it is absent, as in lru-cache. */
  getRemainingTTL(key: Input<K>): number
  /** Gives the pair a new time to live in milliseconds, or the cache's `ttl`. Returns whether the key was present. */
  touch(key: Input<K>, ttl?: number): boolean

  /** Adds the pair where the key is absent; whether it was. */
  insert(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): boolean
  /** Replaces the value where the key is present; whether it was. */
  replace(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): boolean
  /** Gives the key this value, present or not; false where the pair is too large, and everything is as it was. */
  upsert(key: Input<K>, value: Input<V>, options?: CacheWriteOptions): boolean
  insertMany(pairs: Iterable<readonly [Input<K>, Input<V>]>, options?: CacheWriteOptions): boolean[]
  replaceMany(pairs: Iterable<readonly [Input<K>, Input<V>]>, options?: CacheWriteOptions): boolean[]
  upsertMany(pairs: Iterable<readonly [Input<K>, Input<V>]>, options?: CacheWriteOptions): boolean[]

  /** Changes the capacity in bytes. What does not fit is evicted before this returns. */
  shrinkTo(capacity: number): void

  /**
   * The key's value, or else what `fetchMethod` makes, which is written. Other calls for the same key wait for that computation, in
   * all threads that share the cache. What it throws reaches all of them, and nothing is written; nor is `undefined`, nor a value
   * whose key is written or deleted meanwhile, nor one that is too large. A call whose signal aborts rejects, and what it began
   * goes on.
   */
  fetch(key: Input<K>, options?: CacheFetchOptions): Promise<Output<V> | Input<V> | undefined>
  /**
   * The same, with what makes the value given here. One that asks for its own key fails with `TWINDEX_CIRCLE`; in `twindex-wasm` it
   * waits for ever if it asks after its first `await`.
   */
  getOrCompute(
    key: Input<K>,
    compute: () => Input<V> | Promise<Input<V>>,
    options?: CacheWriteOptions,
  ): Promise<Output<V> | Input<V>>
}

/** A position in a sorted table: on the pair that it returned last. It holds no lock, and sees what was written before a call. */
export class Cursor<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> {
  private constructor()

  readonly table: SortedTable<K, V>
  /** Moves right before the first pair from this key on: the next step up returns that pair, the next step down the one before. */
  seek(key: Input<K>): void
  /** The key of the pair that it is on, `undefined` before the first step; and the value that this key has now. */
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
  /** The most changes that it holds for you: by default 16,384. Changes beyond are counted, and come as `lost`. */
  maxChanges?: number | undefined
  /** The most bytes of these changes: by default 16 MiB. */
  capacity?: number | undefined
  /** Ends the iteration once it aborts: a call that waits then rejects with the signal's reason. */
  signal?: Host<'AbortSignal'> | undefined
}

/** A change of a watch, as a `Change`. After `lost`, which counts the missing changes, read the table anew. */
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

  /** The table that it is of; `undefined` once it ended. */
  readonly table: Table<K, V> | undefined
  /** The next change; waits for it. */
  next(): Promise<IteratorResult<Watched<K, V>, undefined>>
  /** The next change if it is there already, or `undefined`. */
  poll(): Watched<K, V> | undefined
  /** The next change, or `undefined` if none comes within this many milliseconds. */
  wait(timeout?: number): Promise<Watched<K, V> | undefined>
  /** Ends the iteration, and the calls that wait. */
  close(): void
  return(value?: unknown): Promise<IteratorResult<Watched<K, V>, undefined>>
  [Symbol.asyncIterator](): this
  [Symbol.asyncDispose](): Promise<void>
}
