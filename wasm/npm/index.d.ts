/**
 * A key-value engine in your program's memory, with hash and sorted tables.
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

import type {
  BaseStore,
  Cache,
  CacheOptions,
  CheckOptions,
  Cursor,
  DELETE,
  ExpiringTable,
  Host,
  KEEP,
  KeyCodec,
  Recovery,
  Report,
  Snapshot,
  StoreOptions,
  Table,
  TwindexError,
  ValueCodec,
  Watch,
} from './src/shared/types.js'

export type * from './src/shared/types.js'
export { DELETE, KEEP, TwindexError } from './src/shared/types.js'

declare module './src/shared/types.js' {
  interface Table<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> {
    /** Its store. */
    readonly store: Store
  }
  interface Snapshot {
    readonly store: Store
  }
  interface Cache<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> {
    /** The cache as bytes for `Cache.load`, with the times that its pairs still live. */
    dump(): Promise<Uint8Array>
    dumpSync(): Uint8Array
  }
  namespace Cache {
    /**
     * Loads a cache from the bytes of `dump` in any language. Options replace the saved ones. Pairs that expired meanwhile are not
     * loaded.
     */
    function load<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>(
      source: ArrayBufferView,
      options?: CacheOptions<K, V>,
    ): Promise<Cache<K, V>>
    function loadSync<K extends KeyCodec = 'str', V extends ValueCodec = 'str'>(
      source: ArrayBufferView,
      options?: CacheOptions<K, V>,
    ): Cache<K, V>
  }
}

/** The classes over one instance of the module. Instances share nothing. */
export interface Twindex {
  readonly Store: typeof Store
  /**
   * In browsers only from `twindex-wasm/caches`: `twindex-wasm` has no caches, so this is `TWINDEX_NOT_SUPPORTED`.
   */
  readonly Cache: typeof Cache
  readonly Table: typeof Table
  /** In browsers these two need `twindex-wasm/caches` or a store of `twindex-wasm/browser`. */
  readonly ExpiringTable: typeof ExpiringTable
  readonly Watch: typeof Watch
  readonly Cursor: typeof Cursor
  readonly Snapshot: typeof Snapshot
  readonly TwindexError: typeof TwindexError
  readonly DELETE: typeof DELETE
  readonly KEEP: typeof KEEP
  /** Verifies every checksum of a file's bytes. Rejects with `TWINDEX_CORRUPT` if it is not a store's file. */
  check(file: ArrayBufferView, options?: CheckOptions): Promise<Report>
  /** Saves what can be saved of a damaged file: the result's `file` is a new one. */
  recover(
    file: ArrayBufferView,
    options?: CheckOptions,
  ): Promise<Recovery & { readonly file: Uint8Array<ArrayBuffer> }>
}

/** `WebAssembly.Module`, if the program's typings have it. */
export type CompiledModule = typeof globalThis extends { WebAssembly: infer Names }
  ? Host<'Module', Names>
  : never

/** The module: an address, a `Response`, its bytes, or the compiled `WebAssembly.Module`. */
export type Source =
  | string
  | Host<'URL'>
  | Host<'Response'>
  | ArrayBuffer
  | ArrayBufferView<ArrayBuffer>
  | CompiledModule

/**
 * Loads the module. Without an argument it is this package's own, and every call returns the same instance. With one, each call
 * returns a new instance.
 */
export function load(source?: Source | Promise<Source>): Promise<Twindex>

export interface StoreStats {
  tables: number
  /** The bytes in memory. */
  memory: number
  snapshots: number
  /** The bytes of these that snapshots need. */
  keptBytes: number
  /** Transactions that have not ended. */
  transactions: number
}

/** A set of named tables in memory. */
// biome-ignore lint/correctness/noUnusedVariables: it adds the members of all stores to the class
interface Store extends BaseStore {}
declare class Store {
  constructor(options?: StoreOptions)

  /** A store from the bytes of `dump` in any language. */
  static load(source: ArrayBufferView, options?: StoreOptions): Promise<Store>
  static loadSync(source: ArrayBufferView, options?: StoreOptions): Store

  /** Statistics of the store and its open snapshots. */
  stats(): StoreStats
}

// It comes with `load`.
export type { Store }
