/// <reference lib="esnext.disposable" />
/**
 * An in-memory key-value engine with two kinds of index that lives inside the program that uses it.
 *
 * ```js
 * import { load } from 'twindex-wasm'
 * const { Store } = await load()
 * const store = new Store()
 * const users = store.table('users')
 * users.insert('ada', '1815') // true
 * users.select('ada') // '1815'
 * ```
 */

/** The classes over one instance of the module. Instances share nothing. */
export interface Twindex {
  readonly Store: typeof Store
  readonly Table: typeof Table
  readonly Cursor: typeof Cursor
  readonly TwindexError: typeof TwindexError
}

/** An object of one of the host's own classes, as far as a program's typings know that. */
type Host<Name extends string, In = typeof globalThis> =
  In extends Record<Name, { prototype: infer T }> ? T : never
type CompiledModule = typeof globalThis extends { WebAssembly: infer Names } ? Host<'Module', Names> : never

/** Where the module is: an address, an answer of `fetch`, its bytes, or the `WebAssembly.Module` that was compiled from them. */
export type Source =
  | string
  | Host<'URL'>
  | Host<'Response'>
  | ArrayBuffer
  | ArrayBufferView<ArrayBuffer>
  | CompiledModule

/**
 * Loads the module. Without an argument that is the `twindex.wasm` of this package, and the same instance every time; with
 * one, it is a new instance.
 */
export function load(source?: Source | Promise<Source>): Promise<Twindex>

/** A `Buffer` where there is one, as in Node. */
export type BufferLike = [Host<'Buffer'>] extends [never] ? Uint8Array : Host<'Buffer'>

/** The kind of index of a table: `hash` finds single keys, `sorted` also scans keys in the order of their bytes. */
export type Index = 'hash' | 'sorted'

/**
 * How keys are seen: `utf8` as strings; `buffer` as any view of bytes in and a `Buffer` out; `view` as any view of
 * bytes in and a `Uint8Array` out, which is a copy; `int` as safe integers and `bigint` as bigints of 64 bits, both as the
 * same 8 bytes, which order as the numbers do; `tuple` as arrays of `null`, strings, numbers, bigints, views of bytes and arrays,
 * which order item by item; or an encoding of your own.
 */
export type KeyEncoding = 'utf8' | 'buffer' | 'view' | 'int' | 'bigint' | 'tuple' | CustomEncoding

/**
 * How values are seen: `utf8`, `buffer` and `view` as keys are; `json` as whatever JSON can say; `int` and `bigint` as decimal
 * text, which is what `increment` adds to; or an encoding of your own.
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
  buffer: BufferLike
  view: Uint8Array
  // biome-ignore lint/suspicious/noExplicitAny: it is what JSON.parse returns
  json: any
  int: number
  bigint: bigint
  tuple: TupleOutput[]
}

/** What a table with this encoding takes. */
export type Input<E extends KeyEncoding | ValueEncoding> = E extends keyof Inputs
  ? Inputs[E]
  : E extends CustomEncoding<infer In, unknown>
    ? In
    : never

/** What a table with this encoding gives. */
export type Output<E extends KeyEncoding | ValueEncoding> = E extends keyof Outputs
  ? Outputs[E]
  : E extends CustomEncoding<never, infer Out>
    ? Out
    : never

/** What stands for no value: with `json`, and an encoding of your own, only `undefined`, because there `null` is a value. */
export type None<E extends ValueEncoding> = E extends 'json' | CustomEncoding ? undefined : undefined | null

/** Why a call failed, the same names in every language. */
export type ErrorCode =
  /** An argument of a wrong type. A `TypeError`. */
  | 'TWINDEX_TYPE'
  /** An unknown or conflicting option, or a number out of range. A `RangeError`. */
  | 'TWINDEX_RANGE'
  /** The bytes cannot be shown in the encoding that the table was opened with. */
  | 'TWINDEX_ENCODING'
  /** The store was closed. */
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
  /** The write would take the store past its memory limit, or the module got no more memory. */
  | 'TWINDEX_MEMORY_LIMIT'
  /** `increment` met a value that is not a decimal integer of 64 bits. */
  | 'TWINDEX_NOT_AN_INTEGER'
  /** `increment` would leave the range of 64 bits. */
  | 'TWINDEX_OVERFLOW'
  /** The bytes are not a whole, undamaged dump. */
  | 'TWINDEX_CORRUPT'
  /** The browser has no storage here. */
  | 'TWINDEX_IO'
  /** Another tab or worker has the store open for writing. */
  | 'TWINDEX_IN_USE'
  /** A write to a store that was opened for reading alone. */
  | 'TWINDEX_READ_ONLY'
  /** A write after writing to the browser's storage had failed. */
  | 'TWINDEX_LOG_FAILED'
  /** A durability that is none of `none`, `everysec` and `always`. */
  | 'TWINDEX_UNKNOWN_DURABILITY'

/** The engine refused. Errors of arguments are a `TypeError` or a `RangeError` instead, and have a `code` too. */
export class TwindexError extends Error {
  constructor(code: ErrorCode, message: string)
  readonly name: 'TwindexError'
  readonly code: ErrorCode
}

export interface StoreOptions {
  /** The most bytes that the store may hold. */
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

/** A set of named tables in memory. */
declare class Store {
  constructor(options?: StoreOptions)

  /** A store from the bytes that `dump` gave, in any language. */
  static load(source: ArrayBufferView): Store

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

  /** The whole store as bytes. */
  dump(): Uint8Array

  /** Lets go of the store: it, its tables, cursors and iterators fail from then on, and its memory is given back. */
  closeSync(): void
  /** As `closeSync`, which it does at once; in a store that a browser keeps it then waits for the disk. */
  close(): Promise<void>
  readonly closed: boolean;
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
}

/** A named set of pairs under one index. */
declare class Table<K extends KeyEncoding = 'utf8', V extends ValueEncoding = 'utf8'> {
  private constructor()

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
   * Every pair, in the order of the keys where the index is sorted. Pairs are read in blocks: one that changes
   * meanwhile comes as it was or as it is.
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
declare class Cursor<K extends KeyEncoding = 'utf8', V extends ValueEncoding = 'utf8'> {
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

// Their values come with `load`.
export type { Cursor, Store, Table }
