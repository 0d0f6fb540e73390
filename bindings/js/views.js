// Views of bytes. What a view says of itself is not asked: a property of the same name, or a subclass, can make it say
// anything. The getters of the language itself know.

import { makeError, typeError } from './errors.js'

const getter = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get

function getters(prototype) {
  const [buffer, offset, length] = ['buffer', 'byteOffset', 'byteLength'].map((name) =>
    getter(prototype, name),
  )
  return { buffer, offset, length }
}

const typedArray = Object.getPrototypeOf(Uint8Array.prototype)
const ofArrays = getters(typedArray)
const ofDataViews = getters(DataView.prototype)

/** The name of a typed array's kind; `undefined` for a DataView and for what is no view. */
const kindOf = getter(typedArray, Symbol.toStringTag)

/** Whether it is a Uint8Array, as a `Buffer` is. */
export const isBytes = (value) => kindOf.call(value) === 'Uint8Array'

/** How many bytes a Uint8Array has. */
export const lengthOf = (bytes) => ofArrays.length.call(bytes)

/** Throws where there is no memory behind an array any more, which then says that its length is 0. */
const touch = typedArray.at

/** The bytes of any view, without copying them. */
export function viewBytes(value, what) {
  if (isBytes(value) && lengthOf(value) > 0) return value
  if (!ArrayBuffer.isView(value)) {
    throw typeError(`a ${what} of this table is a Uint8Array or another view of bytes`, value)
  }
  const isArray = kindOf.call(value) !== undefined
  const { buffer, offset, length } = isArray ? ofArrays : ofDataViews
  try {
    const bytes = new Uint8Array(buffer.call(value), offset.call(value), length.call(value))
    if (bytes.length === 0 && isArray) touch.call(value, 0)
    return bytes
  } catch (cause) {
    const message = `the bytes of a ${what} are gone: their ArrayBuffer was transferred or made shorter`
    throw Object.assign(makeError('TWINDEX_TYPE', message), { cause })
  }
}

/** A copy of bytes. Not by `slice`, which on a Buffer shares memory. */
export const copyBytes = (bytes) => new Uint8Array(bytes)

const sharedLength =
  typeof SharedArrayBuffer === 'function' ? getter(SharedArrayBuffer.prototype, 'byteLength') : undefined

/** Whether other threads may have a buffer. No property of it is asked, since a program can set any. */
function isShared(buffer) {
  if (sharedLength === undefined) return false
  try {
    sharedLength.call(buffer)
    return true
  } catch {
    return false
  }
}

/** The same bytes where no other thread can change them. */
export function ownBytes(bytes) {
  return isShared(ofArrays.buffer.call(bytes)) ? copyBytes(bytes) : bytes
}

export function isEqualBytes(item, other) {
  if (item === undefined || other === undefined) return item === other
  const length = lengthOf(item)
  if (length !== lengthOf(other)) return false
  for (let at = 0; at < length; at++) if (item[at] !== other[at]) return false
  return true
}
