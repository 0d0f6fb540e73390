// Stands for `cache.js`, `transaction.js`, `expiring.js` and `watch.js` where pages load neither them nor a module with these.

import { makeError } from './shared/errors.js'

export const leftOut = (what) =>
  makeError('TWINDEX_NOT_SUPPORTED', `this module has no ${what}: import { load } from 'twindex-wasm/caches'`)

const refuse = (what) => () => {
  throw leftOut(what)
}

export const runTransaction = refuse('transactions')
export const openWatch = refuse('watches')

export const cacheClass = () =>
  class Cache {
    static loadSync = refuse('caches')

    static async load() {
      Cache.loadSync()
    }

    constructor() {
      Cache.loadSync()
    }
  }
