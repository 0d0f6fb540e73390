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
  Cursor,
  DELETE,
  Host,
  KEEP,
  KeyCodec,
  StoreOptions,
  Table,
  TwindexError,
  ValueCodec,
} from './src/shared/types.js'

export type {
  BufferLike,
  Codec,
  Cursor,
  CustomCodec,
  ErrorCode,
  Index,
  Input,
  KeyCodec,
  None,
  Output,
  RangeOptions,
  ScanOptions,
  SortedTable,
  StoreOptions,
  Table,
  TableOptions,
  TupleItem,
  TupleOutput,
  ValueCodec,
} from './src/shared/types.js'
export { DELETE, KEEP, TwindexError } from './src/shared/types.js'

declare module './src/shared/types.js' {
  interface Table<K extends KeyCodec = 'str', V extends ValueCodec = 'str'> {
    /** The store that it is of. */
    readonly store: Store
  }
}

/** The classes over one instance of the module. Instances share nothing. */
export interface Twindex {
  readonly Store: typeof Store
  readonly Table: typeof Table
  readonly Cursor: typeof Cursor
  readonly TwindexError: typeof TwindexError
  readonly DELETE: typeof DELETE
  readonly KEEP: typeof KEEP
}

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

/** A set of named tables in memory. */
// biome-ignore lint/correctness/noUnusedVariables: it gives the class what all stores have
interface Store extends BaseStore {}
declare class Store {
  constructor(options?: StoreOptions)

  /** A store from the bytes that `dump` gave, in any language. */
  static load(source: ArrayBufferView, options?: StoreOptions): Promise<Store>
  static loadSync(source: ArrayBufferView, options?: StoreOptions): Store
}

// It comes with `load`.
export type { Store }
