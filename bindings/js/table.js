// What the tables of both packages share: the face of a Map, and `alter`.

import { typeError } from './errors.js'
import { INSPECT } from './internal.js'
import { readFunction } from './options.js'

/** What a change returns to remove the pair. One symbol for every copy of the packages. */
export const DELETE = Symbol.for('twindex.DELETE')
/** What a change returns to leave the pair as it is, or absent. */
export const KEEP = Symbol.for('twindex.KEEP')

/** The face of a Map, for a class that has the verbs, `entries`, `name` and `index`. */
export class MapLike {
  get(key) {
    return this.select(key)
  }

  set(key, value) {
    this.upsert(key, value)
    return this
  }

  has(key) {
    return this.contains(key)
  }

  forEach(visit, thisArgument) {
    readFunction(visit, 'a visit')
    for (const [key, value] of this.entries()) visit.call(thisArgument, value, key, this)
  }

  [Symbol.iterator]() {
    return this.entries()
  }

  get [Symbol.toStringTag]() {
    return 'Table'
  }

  [INSPECT](_depth, options, inspect) {
    const { keys, values } = this.codecs
    return `Table ${inspect({ name: this.name, index: this.index, keys, values }, options)}`
  }
}

/** The item that a change returned: `undefined` for none. */
function readChange(values, wanted) {
  if (wanted === DELETE) return undefined
  if (values.isNone(wanted)) throw typeError('a change returns the new value, DELETE or KEEP', wanted)
  return values.toItem(wanted, 'value')
}

/**
 * Replaces a value by what `change` makes of it: whether that changed anything. `keep()` gives the item that is there,
 * as a copy, and `swap(seen, next)` writes one where that is still there. The change runs outside of any lock, so it may
 * do what it likes; where the value changed meanwhile, it runs again.
 */
export function alter(values, change, keep, swap) {
  readFunction(change, 'a change')
  for (;;) {
    const seen = keep()
    const wanted = change(seen === undefined ? undefined : values.show(seen))
    const next = wanted === KEEP ? seen : readChange(values, wanted)
    if (values.isEqual(seen, next)) {
      // Nothing to write, and the engine is to say all the same whether the key and the table are good.
      if (seen === undefined) swap()
      return false
    }
    if (swap(seen, next)) return true
  }
}
