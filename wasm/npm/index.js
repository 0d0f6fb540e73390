// The engine as an ES module, for browsers, Node, Deno and Bun:
//
//   import { load } from 'twindex-wasm'
//   const { Store } = await load()
//
// This is the entry for browsers, with the module that is small and no caches; fast.js is that for servers.

import { cacheClass, openWatch, runTransaction } from './src/leftout.js'
import { loader } from './src/loader.js'
import { openTable } from './src/table.js'

export { TwindexError } from './src/shared/errors.js'
export { DELETE, KEEP } from './src/shared/table.js'

// A form that bundlers know. Workers of Cloudflare have no such address, so it is made when it is needed.
export const load = loader(
  () => new URL('./twindex.wasm', import.meta.url),
  () => new URL('./twindex.files.wasm', import.meta.url),
  { cacheClass, runTransaction, openTable, openWatch },
)
