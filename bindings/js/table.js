// What the tables and caches of all packages share.

import { typeError } from './errors.js'
import { INSPECT } from './internal.js'
import { noKeys, readDeleted, readFunction, readPrefix, readPrefixScan } from './options.js'
import { refuseOldVerbs } from './renamed.js'

/** What a change returns to remove the pair. One symbol for every copy of the packages. */
export const DELETE = Symbol.for('twindex.DELETE')
/** What a change returns to leave the pair as it is, or absent. */
export const KEEP = Symbol.for('twindex.KEEP')

/** What an iterator gives of each pair, as the native half numbers it. */
export const KEYS = 1
export const VALUES = 2
export const PAIRS = 3

/** The item that a change returned: `undefined` for none. */
function readChange(values, wanted) {
  if (wanted === DELETE) return undefined
  if (values.isNone(wanted)) throw typeError('a change returns the new value, DELETE or KEEP', wanted)
  return values.toItem(wanted, 'value')
}

/** Removes a pair that `find()` gives, once it is shown: one that cannot be shown stays. If it is changed meanwhile, again. */
function removeShown(find, remove) {
  for (;;) {
    const found = find()
    if (found === undefined) return undefined
    const shown = found.show()
    if (remove(found)) return shown
  }
}

/**
 * What tables and caches of both packages share: the face of a Map, and the verbs that a program's code is part of. `described`
 * has the codecs and their names. `access` has what works on what the codec makes of a key, as nobody can change it:
 * `of(key)`; `keep(item)`, the value's item, as a copy; `swap(item, seen, next)`, which writes a value's item where another one is
 * still there; and `walk(halves)`, an iterator. The class adds the other verbs.
 */
export class Pairs {
  #names
  #values
  #access

  constructor({ names, codecs }, access) {
    this.#names = names
    this.#values = codecs.values
    this.#access = access
  }

  /** The names of the codecs that are remembered. */
  get codecs() {
    const [keys, values] = this.#names
    return { keys, values }
  }

  get(key) {
    return this.select(key)
  }

  set(key, value, options) {
    this.upsert(key, value, options)
    return this
  }

  has(key) {
    return this.contains(key)
  }

  compareAndSwap(key, expected, value) {
    const values = this.#values
    const pack = (wanted) => (values.isNone(wanted) ? undefined : values.own(values.toItem(wanted, 'value')))
    const [seen, next] = [pack(expected), pack(value)]
    return this.#access.swap(this.#access.of(key), seen, next)
  }

  /**
   * Replaces a value by what `change` makes of it: whether that changed anything. The change runs outside of any lock, so it may
   * do what it likes; where the value changed meanwhile, it runs again.
   */
  alter(key, change) {
    const [values, { of, keep, swap }] = [this.#values, this.#access]
    const item = of(key)
    readFunction(change, 'a change')
    for (;;) {
      const seen = keep(item)
      const wanted = change(seen === undefined ? undefined : values.show(seen))
      const next = wanted === KEEP ? seen : readChange(values, wanted)
      if (values.isEqual(seen, next)) {
        // Nothing to write, and the engine is to say all the same whether the key and the table are good.
        if (seen === undefined) swap(item)
        return false
      }
      if (swap(item, seen, next)) return true
    }
  }

  entries() {
    return this.#access.walk(PAIRS)
  }

  keys() {
    return this.#access.walk(KEYS)
  }

  values() {
    return this.#access.walk(VALUES)
  }

  forEach(visit, thisArgument) {
    readFunction(visit, 'a visit')
    for (const [key, value] of this.entries()) visit.call(thisArgument, value, key, this)
  }

  [Symbol.iterator]() {
    return this.entries()
  }
}
refuseOldVerbs(Pairs)

/**
 * What the tables of all packages share. Beside what `Pairs` needs, `access` has:
 *
 *   end(isLast)         the first or last pair as the user sees it, or `undefined`
 *   find(isLast)        the same pair to be removed: its key's `item`, `show()`, and what else `remove` needs
 *   remove(found)       removes it if it is still the same; whether it was
 *   popBytes(isLast)    removes and returns the pair at once; for tables of bytes, which can all be shown. Not in transactions.
 *   deleteAll(range)    removes the pairs of a range; how many
 */
export class TableLike extends Pairs {
  #store
  #name
  #index
  #access
  #codecs

  constructor(store, described, access) {
    super(described, access)
    this.#access = access
    this.#codecs = described.codecs
    this.#store = store
    this.#name = described.name
    this.#index = described.index
  }

  get store() {
    return this.#store
  }

  get name() {
    return this.#name
  }

  get index() {
    return this.#index
  }

  take(key) {
    const { of, keep, swap } = this.#access
    const item = of(key)
    const find = () => {
      const seen = keep(item)
      if (seen !== undefined) return { seen, show: () => this.#codecs.values.show(seen) }
      swap(item) // as in `alter`, says whether the key and the table are good
      return undefined
    }
    return removeShown(find, ({ seen }) => swap(item, seen))
  }

  first() {
    return this.#access.end(false)
  }

  last() {
    return this.#access.end(true)
  }

  popFirst() {
    return this.#pop(false)
  }

  popLast() {
    return this.#pop(true)
  }

  #pop(isLast) {
    const { keys, values } = this.#codecs
    const { find, remove, popBytes, deleteAll } = this.#access
    if (popBytes !== undefined && keys.name === 'bytes' && values.name === 'bytes') return popBytes(isLast)
    const findOne = () => {
      const found = find(isLast)
      if (found === undefined) deleteAll(noKeys(keys)) // says whether the table can be written to
      return found
    }
    return removeShown(findOne, remove)
  }

  prefix(prefix, options) {
    return this.scan(readPrefixScan(prefix, options))
  }

  deleteRange(options) {
    return this.#access.deleteAll(readDeleted(options, this.#codecs.keys))
  }

  deletePrefix(prefix) {
    return this.#access.deleteAll(readPrefix({ prefix }, this.#codecs.keys))
  }

  get [Symbol.toStringTag]() {
    return 'Table'
  }

  [INSPECT](_depth, options, inspect) {
    const { keys, values } = this.codecs
    return `Table ${inspect({ name: this.name, index: this.index, keys, values }, options)}`
  }
}
