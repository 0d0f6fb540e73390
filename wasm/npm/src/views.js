// Any view of bytes as a Uint8Array.

import { typeError } from './errors.js'

/** The same bytes, not a copy. */
export function viewBytes(value, what) {
  if (value instanceof Uint8Array) return value
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  throw typeError(`a ${what} of this table is a Uint8Array or another view of bytes`, value)
}
