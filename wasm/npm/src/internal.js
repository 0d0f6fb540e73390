// What the classes share that no user should see.

import { makeError } from './errors.js'

/** Whoever has it may call the constructors that are ours to call. */
export const INTERNAL = Symbol('twindex')

export function checkInternal(internal, name, instead) {
  if (internal !== INTERNAL) throw makeError('TWINDEX_TYPE', `a ${name} is made by ${instead}`)
}

/** By this name Node asks an object how it is to be shown. */
export const INSPECT = Symbol.for('nodejs.util.inspect.custom')
