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

/** What a table is asked for. Codecs are those of the package `twindex`: a name, or an object of your own. */
export interface TableOptions {
  index?: 'hash' | 'sorted'
  keys?: string | object
  values?: string | object
  create?: boolean
}

/** Times are in milliseconds. */
export interface ConnectOptions {
  /** What every key in the servers begins with: `tw` unless told. */
  namespace?: string
  /** Keeps so many bytes of pairs in this process, which the servers keep true. */
  nearCache?: number
  /** How long such a pair is shown at most: 60,000 unless told. */
  longestLife?: number
  /** How long a server may take for a command: 2,000 unless told. */
  timeout?: number
  connectTimeout?: number
  /** How long a command is tried that no server has taken yet: 15,000 unless told. */
  patience?: number
  /** How soon this client learns of a table that another one dropped: 1,000 unless told. */
  catalogueAge?: number
  /** How many partitions a new sorted table gets: 16 unless told. */
  partitions?: number
  /**
   * How many replicas of its master a write waits for: none unless told. Where fewer have it in time, the write is done and
   * the error is `TWINDEX_NOT_REPLICATED`.
   */
  replicas?: number
  /**
   * Where a server is reached that announces another address, as behind Docker or NAT, such as
   * `{ '172.17.0.2:6379': 'localhost:7000' }`. A host alone stands for all its ports.
   */
  addresses?: Record<string, string>
  tlsAuthority?: string | Uint8Array
  tlsCertificate?: string | Uint8Array
  tlsKey?: string | Uint8Array
}

export interface Range<K> {
  gt?: K
  gte?: K
  lt?: K
  lte?: K
  prefix?: K
}

export interface ScanOptions<K> extends Range<K> {
  reverse?: boolean
  limit?: number
}

export interface WriteOptions {
  /** The pair expires after so many milliseconds. Pairs of sorted tables do not expire. */
  ttl?: number
}

export interface NearStats {
  hits: number
  misses: number
  invalidations: number
  emptied: number
  pairs: number
  bytes: number
  /** How many servers are listened to, and how many partitions of sorted tables. */
  servers: number
  channels: number
}

/** Connects to the servers that a URL names, such as `redis://host:7000,other:7000`; `rediss://` is TLS. */
export function connect(url: string, options?: ConnectOptions): Promise<Store>

/** What the function of `alter` returns to remove the pair, or to leave it as it is. */
export const DELETE: unique symbol
export const KEEP: unique symbol

/** The servers, or the package, refused; `code` says why. */
export class TwindexError extends Error {
  readonly code: string
  /**
   * Of `TWINDEX_PARTLY_DONE`: what each item of a `Many` form answered, or an error. An item with an error is not written, but
   * for `TWINDEX_UNKNOWN_OUTCOME` and `TWINDEX_NOT_REPLICATED`.
   */
  readonly outcomes?: (boolean | number | bigint | TwindexError)[]
}

/**
 * Writes that are done together in one slot of the cluster, all or none. The keys of hash tables lie in one slot where they
 * have the same text in braces, as `{ada}name` and `{ada}mail` do. A sorted table made with one partition lies in one. One
 * server that is no cluster does any batch.
 */
export class Batch {
  private constructor()
  /** The number of writes in it. */
  readonly size: number
  insert<K, V>(table: Table<K, V>, key: K, value: V): this
  replace<K, V>(table: Table<K, V>, key: K, value: V): this
  upsert<K, V>(table: Table<K, V>, key: K, value: V): this
  delete<K, V>(table: Table<K, V>, key: K): this
  increment<K, V>(table: Table<K, V>, key: K, by?: number | bigint): this
  /** Has the batch done only if the key has this value when it is committed, or is absent for `undefined`. */
  expect<K, V>(table: Table<K, V>, key: K, value: V | undefined): this
  /** Does all of them, in order: whether each took effect. Where one fails, none is done. Ends the batch. */
  commit(): Promise<boolean[]>
}

export class Store {
  private constructor()
  table<K = string, V = string>(name: string, options?: TableOptions): Promise<Table<K, V>>
  tables(): Promise<[name: string, index: 'hash' | 'sorted'][]>
  dropTable(name: string): Promise<boolean>
  /** A batch of writes that are done all or not at all, to be filled and committed. */
  batch(): Batch
  /** The same, committed once `fill` has returned, and dropped where it throws: whether each write took effect. */
  batch(fill: (batch: Batch) => void | Promise<void>): Promise<boolean[]>
  readonly nearStats: NearStats | undefined
  close(): Promise<void>
}

export class Cursor<K = string, V = string> {
  private constructor()
  scanAscNext(): Promise<[K, V] | undefined>
  scanDescNext(): Promise<[K, V] | undefined>
  scanAscNextMany(limit: number): Promise<[K, V][]>
  scanDescNextMany(limit: number): Promise<[K, V][]>
}

export class Table<K = string, V = string> implements AsyncIterable<[K, V]> {
  private constructor()
  readonly name: string
  readonly index: 'hash' | 'sorted'
  readonly codecs: { keys: string; values: string }
  insert(key: K, value: V, options?: WriteOptions): Promise<boolean>
  replace(key: K, value: V, options?: WriteOptions): Promise<boolean>
  upsert(key: K, value: V, options?: WriteOptions): Promise<boolean>
  delete(key: K): Promise<boolean>
  insertMany(pairs: Iterable<[K, V]>, options?: WriteOptions): Promise<boolean[]>
  replaceMany(pairs: Iterable<[K, V]>, options?: WriteOptions): Promise<boolean[]>
  upsertMany(pairs: Iterable<[K, V]>, options?: WriteOptions): Promise<boolean[]>
  deleteMany(keys: Iterable<K>): Promise<boolean[]>
  /** The sum is of the amount's type, or a bigint where no number can be it. */
  increment(key: K, by?: number | bigint): Promise<number | bigint>
  incrementMany(amounts: Iterable<[K, number | bigint]>): Promise<(number | bigint)[]>
  compareAndSwap(key: K, expected: V | undefined, value: V | undefined): Promise<boolean>
  compareAndSwapMany(swaps: Iterable<[K, V | undefined, V | undefined]>): Promise<boolean[]>
  /** The function is called again where another client writes the pair in between. */
  alter(
    key: K,
    change: (
      value: V | undefined,
    ) => V | typeof DELETE | typeof KEEP | Promise<V | typeof DELETE | typeof KEEP>,
  ): Promise<boolean>
  clear(): Promise<void>
  select(key: K): Promise<V | undefined>
  selectMany(keys: Iterable<K>): Promise<(V | undefined)[]>
  contains(key: K): Promise<boolean>
  containsMany(keys: Iterable<K>): Promise<boolean[]>
  /** How many pairs there are. A hash table walks over all keys of all servers for it. */
  count(): Promise<number>
  /** In milliseconds; `Infinity` where the pair does not expire. */
  ttl(key: K): Promise<number | undefined>
  expire(key: K, ttl: number | undefined): Promise<boolean>
  cursor(options?: Range<K>): Cursor<K, V>
  scan(options?: ScanOptions<K>): AsyncGenerator<[K, V], void, undefined>
  [Symbol.asyncIterator](): AsyncGenerator<[K, V], void, undefined>
}
