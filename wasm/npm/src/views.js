// Any view of bytes as a Uint8Array.

import { typeError } from './errors.js'

/** What a view says of itself may be untrue: these ask the language. */
const getters = (prototype) =>
  ['buffer', 'byteOffset', 'byteLength'].map((name) => Object.getOwnPropertyDescriptor(prototype, name).get)
const ofArrays = getters(Object.getPrototypeOf(Uint8Array.prototype))
const ofViews = getters(DataView.prototype)

/** The same bytes, not a copy. */
export function viewBytes(value, what) {
  if (!ArrayBuffer.isView(value))
    throw typeError(`a ${what} of this table is a Uint8Array or another view of bytes`, value)
  const ask = (of) => new Uint8Array(...of.map((get) => get.call(value)))
  try {
    return ask(ofArrays)
  } catch {
    return ask(ofViews)
  }
}

/** Writes bytes into the input buffer: how many. */
export function writeBytes(core, offset, bytes) {
  core.room(offset, bytes.length)
  core.bytes.set(bytes, core.input + offset)
  return bytes.length
}
