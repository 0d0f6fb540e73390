// Stands for `transaction.js` where pages load neither its code nor a module with transactions.

import { makeError } from './shared/errors.js'

export function runTransaction() {
  throw makeError(
    'TWINDEX_NOT_SUPPORTED',
    "transactions are left out here, which keeps pages small: import { load } from 'twindex-wasm/caches'",
  )
}
