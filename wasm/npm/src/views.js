// Any view of bytes as a Uint8Array.

import { makeError, typeError } from './errors.js'

/** What a view says of itself may be untrue: these ask the language. */
const getters = (prototype) =>
  ['buffer', 'byteOffset', 'byteLength'].map((name) => Object.getOwnPropertyDescriptor(prototype, name).get)
const typedArray = Object.getPrototypeOf(Uint8Array.prototype)
const ofArrays = getters(typedArray)
const ofViews = getters(DataView.prototype)
/** `undefined` for a DataView. */
const kindOf = Object.getOwnPropertyDescriptor(typedArray, Symbol.toStringTag).get

/** The same bytes, not a copy. */
export function viewBytes(value, what) {
  if (!ArrayBuffer.isView(value))
    throw typeError(`a ${what} of this table is a Uint8Array or another view of bytes`, value)
  const isArray = kindOf.call(value) !== undefined
  try {
    const bytes = new Uint8Array(...(isArray ? ofArrays : ofViews).map((get) => get.call(value)))
    // Throws where there is no memory behind it any more, so that it says that its length is 0.
    if (isArray && bytes.length === 0) typedArray.at.call(value, 0)
    return bytes
  } catch (cause) {
    const message = `the bytes of a ${what} are gone: their ArrayBuffer was transferred or made shorter`
    throw Object.assign(makeError('TWINDEX_TYPE', message), { cause })
  }
}

/** Writes bytes into the input buffer: how many. */
export function writeBytes(core, offset, bytes) {
  core.room(offset, bytes.length)
  core.bytes.set(bytes, core.input + offset)
  return bytes.length
}
