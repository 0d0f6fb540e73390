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
    /** The store that it is of. */
    readonly store: Store
  }
  interface Snapshot {
    readonly store: Store
  }
  interface Cache<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> {
    /** The cache as bytes, with the times at which its pairs expire: what `Cache.load` takes. */
    dump(): Promise<Uint8Array>
    dumpSync(): Uint8Array
  }
  namespace Cache {
    /**
     * A cache from the bytes of `dump`, in any language. It has the options and the codecs that were saved, but for those that the
     * options name. What has expired meanwhile is not in it.
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
   * For servers, and from `twindex-wasm/caches`. What `twindex-wasm` gives in browsers has no caches: to make one is
   * `TWINDEX_NOT_SUPPORTED`.
   */
  readonly Cache: typeof Cache
  readonly Table: typeof Table
  /** These two, as caches, are not in what `twindex-wasm` gives in browsers. The stores that a browser keeps have both. */
  readonly ExpiringTable: typeof ExpiringTable
  readonly Watch: typeof Watch
  readonly Cursor: typeof Cursor
  readonly Snapshot: typeof Snapshot
  readonly TwindexError: typeof TwindexError
  readonly DELETE: typeof DELETE
  readonly KEEP: typeof KEEP
  /** Verifies every checksum of a file's bytes. Rejects with `TWINDEX_CORRUPT` where it is no store at all. */
  check(file: ArrayBufferView, options?: CheckOptions): Promise<Report>
  /** Saves what is left of a damaged file: `file` is a new one. */
  recover(
    file: ArrayBufferView,
    options?: CheckOptions,
  ): Promise<Recovery & { readonly file: Uint8Array<ArrayBuffer> }>
}

/** `WebAssembly.Module`, as far as a program's typings know that. */
export type CompiledModule = typeof globalThis extends { WebAssembly: infer Names }
  ? Host<'Module', Names>
  : never

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

export interface StoreStats {
  tables: number
  /** The bytes that it holds. */
  memory: number
  snapshots: number
  /** The bytes of these that are kept for snapshots alone. */
  keptBytes: number
  /** The transactions that have begun and not ended. */
  transactions: number
}

/** A set of named tables in memory. */
// biome-ignore lint/correctness/noUnusedVariables: it gives the class what all stores have
interface Store extends BaseStore {}
declare class Store {
  constructor(options?: StoreOptions)

  /** A store from the bytes that `dump` gave, in any language. */
  static load(source: ArrayBufferView, options?: StoreOptions): Promise<Store>
  static loadSync(source: ArrayBufferView, options?: StoreOptions): Store

  /** What it holds, and what its open snapshots keep. */
  stats(): StoreStats
}

// It comes with `load`.
export type { Store }
