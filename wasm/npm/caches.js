// As index.js, with a module that has caches too.

import { all } from './src/all.js'
import { loader } from './src/loader.js'

export { TwindexError } from './src/shared/errors.js'
export { DELETE, KEEP } from './src/shared/table.js'

export const load = loader(
  () => new URL('./twindex.caches.wasm', import.meta.url),
  () => new URL('./twindex.files.wasm', import.meta.url),
  all,
)
