// Errors. Whatever their class, `code` says what went wrong, with the same names in every language.

/** The engine, or this package, refused; `code` says why. */
export class TwindexError extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }

  get name() {
    return 'TwindexError'
  }
}

/** The class that a JavaScript user expects for such an error. */
const BUILT_IN = { TWINDEX_TYPE: TypeError, TWINDEX_RANGE: RangeError }

/** A value for a message: short, and without running any code of the value's own. */
export function describe(value) {
  if (typeof value === 'string') {
    const shown = `'${value.slice(0, 40)}'`
    return value.length > 40 ? `${shown}... ${value.length - 40} more characters` : shown
  }
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/** The start of some bytes, as text that is safe to print. */
export function excerpt(bytes) {
  const shown = Array.from(bytes.subarray(0, 32), (byte) =>
    byte > 31 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('')
  return bytes.length > 32 ? `${shown}...` : shown
}

export function makeError(code, message) {
  const BuiltIn = BUILT_IN[code]
  return BuiltIn === undefined
    ? new TwindexError(code, message)
    : Object.assign(new BuiltIn(message), { code })
}

/** Bytes that cannot be shown in an encoding, or a value that has no bytes in it. */
export const encodingError = (message) => makeError('TWINDEX_ENCODING', message)

/** Bytes that are not of a format. */
export const notOf = (format, what, bytes) =>
  encodingError(`a ${what} is not ${format}: it begins with "${excerpt(bytes)}"`)

/** An argument of a wrong type. */
export const typeError = (message, got) => makeError('TWINDEX_TYPE', `${message}, not ${describe(got)}`)

/** An unknown or conflicting option, or a number out of range. */
export const rangeError = (message) => makeError('TWINDEX_RANGE', message)
