// As index.js, with the module that is built for speed: a third larger, and it needs a runtime with vectors of 128 bits.

import { all } from './src/all.js'
import { loader } from './src/loader.js'

export { TwindexError } from './src/shared/errors.js'
export { DELETE, KEEP } from './src/shared/table.js'

export const load = loader(
  () => new URL('./twindex.fast.wasm', import.meta.url),
  () => new URL('./twindex.files.wasm', import.meta.url),
  all,
)
