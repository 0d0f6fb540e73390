// Which values of a cache are being computed. Every write of an instance of the module goes through its JavaScript, by whatever
// handle and codec, so these know of all.

import { nameOf } from './shared/cache.js'

/** What is dropped, evicted or closed meanwhile, and what does not fit, was computed all the same. */
const UNKEPT = ['TWINDEX_MEMORY_LIMIT', 'TWINDEX_TABLE_DROPPED', 'TWINDEX_CLOSED']

export class Computations {
  /** What this instance computes, for all handles of the cache. */
  flights = new Map()
  /** Those that may still be kept, by name of the key. */
  #wanted = new Map()

  /** Begins one; `write(value, ttl)` keeps its value. */
  begin(item, write) {
    const name = nameOf(item)
    const begun = Symbol('computation')
    const stands = () => this.#wanted.get(name)?.has(begun) ?? false
    if (!this.#wanted.has(name)) this.#wanted.set(name, new Set())
    this.#wanted.get(name).add(begun)
    return {
      stands,
      store(value, ttl) {
        if (!stands()) return
        try {
          write(value, ttl)
        } catch (error) {
          if (!UNKEPT.includes(error.code)) throw error
        }
      },
      end: () => {
        if (stands() && this.#wanted.get(name).delete(begun) && this.#wanted.get(name).size === 0) {
          this.#wanted.delete(name)
        }
      },
    }
  }

  /** The pair of this key was written or deleted, or all were, where it is `undefined`. */
  changed(item) {
    if (this.#wanted.size === 0) return
    if (item === undefined) this.#wanted.clear()
    else this.#wanted.delete(nameOf(item))
  }
}
