/// <reference types="node" />

/**
 * Twindex's tables in a Valkey or Redis Cluster, or in one server.
 *
 * ```js
 * import { connect } from '@twindex/cluster'
 * const store = await connect('redis://localhost:7000')
 * const users = await store.table('users')
 * await users.insert('ada', '1815') // true
 * ```
 */

import type {
  DELETE,
  Index,
  Input,
  KEEP,
  KeyCodec,
  None,
  OpenTable,
  Output,
  RangeOptions,
  ScanOptions,
  ValueCodec,
} from './lib/shared/types.js'

export type {
  CustomCodec,
  Index,
  Input,
  KeyCodec,
  Output,
  RangeOptions,
  ScanOptions,
  TableOptions,
  Typed,
  ValueCodec,
} from './lib/shared/types.js'
export { DELETE, KEEP } from './lib/shared/types.js'

declare module './lib/shared/types.js' {
  interface Tables<K extends KeyCodec, V extends ValueCodec> {
    cluster: Opening<K, V>
  }
}

interface Opening<K extends KeyCodec, V extends ValueCodec> {
  hash: Promise<Table<K, V>>
  sorted: Promise<SortedTable<K, V>>
}

/** Times are in milliseconds. */
export interface ConnectOptions {
  /** The start of every key in the servers: `tw` by default. */
  namespace?: string
  /** Caches up to this many bytes of pairs in this process; the servers invalidate them. */
  nearCache?: number
  /** How long such a pair lives at most: 60,000 by default. */
  longestLife?: number
  /** How long a server may take for a command: 2,000 by default. */
  timeout?: number
  connectTimeout?: number
  /** How long a command that no server has accepted is retried: 15,000 by default. */
  patience?: number
  /** How soon this client notices a table that another client dropped: 1,000 by default. */
  catalogueAge?: number
  /** The partitions of a new sorted table: 16 by default. */
  partitions?: number
  /**
   * How many replicas must have a write before it returns: 0 by default. If fewer have it in time, the write is done and the error
   * is `TWINDEX_NOT_REPLICATED`.
   */
  replicas?: number
  /**
   * Addresses in place of those that servers announce, as with Docker or NAT:
   * `{ '172.17.0.2:6379': 'localhost:7000' }`. A host without a port stands for all its ports.
   */
  addresses?: Record<string, string>
  /** The authority to trust in place of the system's, as PEM. */
  tlsAuthority?: string | Uint8Array
  /** A certificate and its key, as PEM. */
  tlsIdentity?: readonly [certificate: string | Uint8Array, key: string | Uint8Array]
}

export interface WriteOptions {
  /** The pair expires after this many milliseconds, never with `Infinity`. Pairs of sorted tables do not expire. */
  ttl?: number
}

export interface NearStats {
  hits: number
  misses: number
  invalidations: number
  emptied: number
  pairs: number
  bytes: number
  /** The servers, and the partitions of sorted tables, whose invalidations arrive. */
  servers: number
  channels: number
}

/** Connects to the servers that a URL names, such as `redis://host:7000,other:7000`; `rediss://` is TLS. */
export function connect(url: string, options?: ConnectOptions): Promise<Store>

/** An error of the servers or of the package. */
export class TwindexError extends Error {
  readonly code: string
  /**
   * Of `TWINDEX_PARTLY_DONE`: the result or the error of each item of a `Many` form. An item with an error is not written, except
   * with `TWINDEX_UNKNOWN_OUTCOME` (perhaps) and `TWINDEX_NOT_REPLICATED` (it is).
   */
  readonly outcomes?: (boolean | number | bigint | TwindexError)[]
}

// biome-ignore lint/suspicious/noExplicitAny: any codecs
type AnyTable = Table<any, any>
type KeyOf<T> = T extends Table<infer K, infer _> ? Input<K> : never
type ValueOf<T> = T extends Table<infer _, infer V> ? Input<V> : never

/**
 * Writes that are done together, all or none. All keys must lie in one slot of the cluster: keys of hash tables do if they have the
 * same text in braces, such as `{ada}name` and `{ada}mail`, and so does a sorted table with one partition. A single server does any
 * batch.
 */
export class Batch {
  private constructor()
  /** The number of writes in it. */
  readonly size: number
  insert<T extends AnyTable>(table: T, key: KeyOf<T>, value: ValueOf<T>): this
  replace<T extends AnyTable>(table: T, key: KeyOf<T>, value: ValueOf<T>): this
  upsert<T extends AnyTable>(table: T, key: KeyOf<T>, value: ValueOf<T>): this
  delete<T extends AnyTable>(table: T, key: KeyOf<T>): this
  increment<T extends AnyTable>(table: T, key: KeyOf<T>, by?: number | bigint): this
  /** Makes `commit` fail, and write nothing, unless the key has this value then, or is absent for `undefined`. */
  expect<T extends AnyTable>(table: T, key: KeyOf<T>, value: ValueOf<T> | undefined): this
  /** Does all writes in order. If one fails, none is done. Returns whether each took effect. Ends the batch. */
  commit(): Promise<boolean[]>
}

export class Store {
  private constructor()
  /** Opens the table, or creates it. */
  table: OpenTable<'cluster'>
  tables(): Promise<[name: string, index: Index][]>
  dropTable(name: string): Promise<boolean>
  /** A batch of writes: all are done or none. Fill it, then `commit` it. */
  batch(): Batch
  /** Commits the batch when `fill` returns, drops it if `fill` throws. Returns whether each write took effect. */
  batch(fill: (batch: Batch) => void | Promise<void>): Promise<boolean[]>
  readonly nearStats: NearStats | undefined
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export class Cursor<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> {
  private constructor()
  scanAscNext(): Promise<[Output<K>, Output<V>] | undefined>
  scanDescNext(): Promise<[Output<K>, Output<V>] | undefined>
  scanAscNextMany(limit: number): Promise<[Output<K>, Output<V>][]>
  scanDescNextMany(limit: number): Promise<[Output<K>, Output<V>][]>
}

declare const codecs: unique symbol

/** The result of the function of `alter`. */
type Changed<V extends ValueCodec> = Input<V> | typeof DELETE | typeof KEEP

export class Table<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>
  implements AsyncIterable<[Output<K>, Output<V>]>
{
  private constructor()
  /** For the type checker only. */
  readonly [codecs]?: { keys: K; values: V }
  readonly name: string
  readonly index: Index
  readonly codecs: { keys: string; values: string }
  insert(key: Input<K>, value: Input<V>, options?: WriteOptions): Promise<boolean>
  replace(key: Input<K>, value: Input<V>, options?: WriteOptions): Promise<boolean>
  upsert(key: Input<K>, value: Input<V>, options?: WriteOptions): Promise<boolean>
  delete(key: Input<K>): Promise<boolean>
  insertMany(pairs: Iterable<readonly [Input<K>, Input<V>]>, options?: WriteOptions): Promise<boolean[]>
  replaceMany(pairs: Iterable<readonly [Input<K>, Input<V>]>, options?: WriteOptions): Promise<boolean[]>
  upsertMany(pairs: Iterable<readonly [Input<K>, Input<V>]>, options?: WriteOptions): Promise<boolean[]>
  deleteMany(keys: Iterable<Input<K>>): Promise<boolean[]>
  /** Adds to decimal text. The sum has the amount's type; as a number it is rounded past `Number.MAX_SAFE_INTEGER`. */
  increment(key: Input<K>, by?: number): Promise<number>
  increment(key: Input<K>, by: bigint): Promise<bigint>
  incrementMany(amounts: Iterable<readonly [Input<K>, number]>): Promise<number[]>
  incrementMany(amounts: Iterable<readonly [Input<K>, bigint]>): Promise<bigint[]>
  compareAndSwap(key: Input<K>, expected: Input<V> | None<V>, value: Input<V> | None<V>): Promise<boolean>
  compareAndSwapMany(
    swaps: Iterable<readonly [Input<K>, Input<V> | None<V>, Input<V> | None<V>]>,
  ): Promise<boolean[]>
  /** The function is called again if another client writes the pair in between. */
  alter(
    key: Input<K>,
    change: (value: Output<V> | undefined) => Changed<V> | Promise<Changed<V>>,
  ): Promise<boolean>
  clear(): Promise<void>
  select(key: Input<K>): Promise<Output<V> | undefined>
  selectMany(keys: Iterable<Input<K>>): Promise<(Output<V> | undefined)[]>
  contains(key: Input<K>): Promise<boolean>
  containsMany(keys: Iterable<Input<K>>): Promise<boolean[]>
  /** The number of pairs. For a hash table it walks over all keys of all servers. */
  readonly size: Promise<number>
  /** In milliseconds; `Infinity` if the pair does not expire. */
  ttl(key: Input<K>): Promise<number | undefined>
  touch(key: Input<K>, ttl: number | undefined): Promise<boolean>
  [Symbol.asyncIterator](): AsyncGenerator<[Output<K>, Output<V>], void, undefined>
}

/** A table with a sorted index. On one with a hash index these calls fail with `TWINDEX_WRONG_INDEX`. */
export interface SortedTable<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> extends Table<K, V> {
  cursor(options?: RangeOptions<K>): Cursor<K, V>
  scan(options?: ScanOptions<K>): AsyncGenerator<[Output<K>, Output<V>], void, undefined>
  /** The pairs of a sorted table whose keys start with `prefix`, in order or in reverse. */
  prefix(
    prefix: Input<K>,
    options?: Pick<ScanOptions, 'reverse' | 'limit'>,
  ): AsyncGenerator<[Output<K>, Output<V>], void, undefined>
}
