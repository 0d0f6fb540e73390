// Stands for `cache.js` where pages load neither its code nor a module with caches.

import { makeError } from './shared/errors.js'

export const noCaches = () =>
  makeError(
    'TWINDEX_NOT_SUPPORTED',
    "caches are left out here, which keeps pages small: import { load } from 'twindex-wasm/caches'",
  )

export const cacheClass = () =>
  class Cache {
    constructor() {
      throw noCaches()
    }

    static async load() {
      throw noCaches()
    }

    static loadSync() {
      throw noCaches()
    }
  }
