// Tables whose pairs expire, and how a table of either kind is opened.

import { Core } from './core.js'
import { checkInternal, INTERNAL } from './shared/internal.js'
import { readCount } from './shared/options.js'
import { readTtl, readWrite } from './shared/times.js'
import { inside, Table } from './table.js'

export const FOREVER = Number.POSITIVE_INFINITY
/** A limit of the module has 32 bits. */
const MOST = 2 ** 32 - 1

/** The same instance, where each call gives it the time first. */
class Ticking extends Core {
  constructor(core) {
    const tickingCall =
      (call) =>
      (...given) => {
        core.tick()
        return call(...given)
      }
    const ticking = ([name, of]) => [name, typeof of === 'function' ? tickingCall(of) : of]
    super({ exports: Object.fromEntries(Object.entries(core.exports).map(ticking)) })
    this.base = core
    this.openWatch = core.openWatch
    this.onRecord = (...given) => core.onRecord(...given)
    Object.defineProperty(this, 'failure', { get: () => core.failure })
  }
}

const ticking = new WeakMap()

/** The core for tables whose pairs expire. */
export function tickingOf(core) {
  if (!ticking.has(core)) ticking.set(core, new Ticking(core))
  return ticking.get(core)
}

/** How long a pair still lives, by the status and the answer of `twindex_ttl`. */
export function readLeft(core, status) {
  if (status === 0) return undefined
  const left = Number(core.answerInteger)
  return left < 0 ? FOREVER : left
}

export class ExpiringTable extends Table {
  #inside
  /** The time to live that the module has for this handle, and how many writes are under way. */
  #ttl = FOREVER
  #depth = 0

  constructor(internal, core, store, described, handle) {
    checkInternal(internal, 'ExpiringTable', 'store.table()')
    super(internal, tickingOf(core), store, described, handle)
    this.#inside = inside(this)
  }

  /** Calls the module for this table. */
  #call(name, ...given) {
    const { core, handle, status } = this.#inside
    return status(core.exports[name](handle, ...given))
  }

  #callWith(name, key, ...given) {
    const { core, keys } = this.#inside
    const length = keys.write(core, 0, keys.toItem(key, 'key'), 'key')
    return this.#call(name, core.input, length, ...given)
  }

  #live(ttl) {
    if (ttl !== this.#ttl) this.#call('twindex_set_ttl', ttl)
    this.#ttl = ttl
  }

  /** Does a write whose pairs live as its options say. A codec of the user's may write to this table meanwhile. */
  #write(options, write) {
    const [ttl, before] = [readWrite(options) ?? FOREVER, this.#ttl]
    this.#live(ttl)
    this.#depth++
    try {
      return write()
    } finally {
      if (--this.#depth > 0) this.#live(before)
    }
  }

  increment(key, by, options) {
    return this.#write(options, () => super.increment(key, by))
  }

  compareAndSwap(...given) {
    return this.#write(undefined, () => super.compareAndSwap(...given))
  }

  compareAndSwapMany(swaps) {
    return this.#write(undefined, () => super.compareAndSwapMany(swaps))
  }

  alter(key, change) {
    return this.#write(undefined, () => super.alter(key, change))
  }

  ttl(key) {
    return readLeft(this.#inside.core, this.#callWith('twindex_ttl', key))
  }

  touch(key, ttl) {
    return this.#callWith('twindex_touch', key, readTtl(ttl) ?? FOREVER) === 1
  }

  removeExpired(limit = Number.MAX_SAFE_INTEGER) {
    this.#call('twindex_remove_expired', Math.min(readCount(limit, 'a limit'), MOST))
    return this.#inside.core.answerCount
  }

  static {
    for (const verb of ['insert', 'replace', 'upsert']) {
      ExpiringTable.prototype[verb] = function (key, value, options) {
        return this.#write(options, () => Table.prototype[verb].call(this, key, value))
      }
    }
    for (const verb of ['insertMany', 'replaceMany', 'upsertMany', 'incrementMany']) {
      ExpiringTable.prototype[verb] = function (items, options) {
        return this.#write(options, () => Table.prototype[verb].call(this, items))
      }
    }
  }
}

/** The table of this handle, of the kind that it is. */
export function openTable(core, store, described, handle) {
  const Kind = described.expires ? ExpiringTable : Table
  return new Kind(INTERNAL, core, store, described, handle)
}
