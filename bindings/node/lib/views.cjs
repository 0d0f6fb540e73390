'use strict'
// Views of bytes.

const { makeError, typeError } = require('./errors.cjs')

/** The bytes of any view, without copying them. */
function viewBytes(value, what) {
  if (value instanceof Uint8Array && value.length > 0) return value
  if (ArrayBuffer.isView(value)) {
    try {
      return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    } catch (cause) {
      const message = `the bytes of a ${what} are gone: their ArrayBuffer was transferred`
      throw Object.assign(makeError('TWINDEX_TYPE', message), { cause })
    }
  }
  throw typeError(`a ${what} of this table is a Uint8Array or another view of bytes`, value)
}

module.exports = { viewBytes }
