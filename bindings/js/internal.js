// What the classes share that no user should see.

import { makeError } from './errors.js'

/** The constructors that are ours alone to call take it. */
export const INTERNAL = Symbol('twindex')

export function checkInternal(internal, name, instead) {
  if (internal !== INTERNAL) throw makeError('TWINDEX_TYPE', `a ${name} is made by ${instead}`)
}

/** By this name Node asks an object how it is to be shown. */
export const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/** Names that older browsers do not have. */
export const DISPOSE = Symbol.dispose ?? Symbol.for('Symbol.dispose')
export const ASYNC_DISPOSE = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')

/** Has a class of iterators what those of the language have. */
export function asIterators(Class) {
  const iterator = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()))
  Object.setPrototypeOf(Class.prototype, iterator)
  Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: 'Table Iterator', configurable: true })
}
