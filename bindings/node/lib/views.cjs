'use strict'
// Views of bytes. What a view says of itself is not asked: a property of the same name, or a subclass, can make it say
// anything. The getters of the language itself know.

const { isDataView, isSharedArrayBuffer, isUint8Array } = require('node:util/types')
const { makeError, typeError } = require('./errors.cjs')

const getter = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get

function getters(prototype) {
  const [buffer, offset, length] = ['buffer', 'byteOffset', 'byteLength'].map((name) =>
    getter(prototype, name),
  )
  return { buffer, offset, length }
}

const ofArrays = getters(Object.getPrototypeOf(Uint8Array.prototype))
const ofDataViews = getters(DataView.prototype)

/** How many bytes a Uint8Array has. */
const lengthOf = (bytes) => ofArrays.length.call(bytes)

/** Throws where there is no memory behind an array any more, which then says that its length is 0. */
const touch = Uint8Array.prototype.at

/** The bytes of any view, without copying them. */
function viewBytes(value, what) {
  if (isUint8Array(value) && lengthOf(value) > 0) return value
  if (ArrayBuffer.isView(value)) {
    const { buffer, offset, length } = isDataView(value) ? ofDataViews : ofArrays
    try {
      const bytes = new Uint8Array(buffer.call(value), offset.call(value), length.call(value))
      if (bytes.length === 0 && !isDataView(value)) touch.call(value, 0)
      return bytes
    } catch (cause) {
      const message = `the bytes of a ${what} are gone: their ArrayBuffer was transferred or made shorter`
      throw Object.assign(makeError('TWINDEX_TYPE', message), { cause })
    }
  }
  throw typeError(`a ${what} of this table is a Uint8Array or another view of bytes`, value)
}

/** The same bytes where no other thread can change them. */
function ownBytes(bytes) {
  return isSharedArrayBuffer(ofArrays.buffer.call(bytes)) ? new Uint8Array(bytes) : bytes
}

module.exports = { lengthOf, ownBytes, viewBytes }
