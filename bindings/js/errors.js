// Errors. Whatever their class, `code` says what went wrong, with the same names in every language.

/** The engine, or the package, refused; `code` says why. */
export class TwindexError extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }
}
Object.defineProperty(TwindexError.prototype, 'name', {
  value: 'TwindexError',
  writable: true,
  configurable: true,
})

/** The class that a JavaScript user expects for such an error. */
const BUILT_IN = {
  TWINDEX_TYPE: TypeError,
  TWINDEX_RANGE: RangeError,
  TWINDEX_CAPACITY: RangeError,
  TWINDEX_TTL: RangeError,
}

/** A message shows so much of a string or of bytes. */
const SHOWN_TEXT = 40
const SHOWN_BYTES = 32

/** A value for a message: short, and without running any code of the value's own. */
export function describe(value) {
  if (typeof value === 'string') {
    const shown = `'${value.slice(0, SHOWN_TEXT)}'`
    return value.length > SHOWN_TEXT ? `${shown}... ${value.length - SHOWN_TEXT} more characters` : shown
  }
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  if (ArrayBuffer.isView(value)) return 'a view of bytes'
  if (typeof value !== 'object' || value === null) return String(value)
  try {
    return Array.isArray(value) ? 'an array' : (KINDS.find(([, is]) => is(value))?.[0] ?? 'an object')
  } catch {
    return 'an object' // a proxy that was revoked
  }
}

/** Whether a method that only objects of one kind have takes a value. */
const takes = (method) => (value) => {
  try {
    method.call(value)
    return true
  } catch {
    return false
  }
}
const KINDS = [
  ['a Date', takes(Date.prototype.getTime)],
  ['a Map', takes(Map.prototype.keys)],
  ['a Set', takes(Set.prototype.keys)],
]

const ESCAPES = { 9: '\\t', 10: '\\n', 13: '\\r', 34: '\\"', 39: "\\'", 92: '\\\\' }

/** The start of some bytes, as text that is safe to print. Every message of every language prints bytes this way. */
export function excerpt(bytes) {
  const shown = Array.from(bytes.subarray(0, SHOWN_BYTES), (byte) => {
    if (ESCAPES[byte] !== undefined) return ESCAPES[byte]
    return byte > 31 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`
  }).join('')
  return bytes.length > SHOWN_BYTES ? `${shown}...` : shown
}

/** Makes an error; with a third argument it names the offending value, with a fourth its cause. */
export function makeError(code, message, ...rest) {
  const [got, cause] = rest
  const text = rest.length > 0 ? `${message}, not ${describe(got)}` : message
  const BuiltIn = BUILT_IN[code]
  const error =
    BuiltIn === undefined ? new TwindexError(code, text) : Object.assign(new BuiltIn(text), { code })
  if (cause !== undefined) error.cause = cause
  Error.captureStackTrace?.(error, makeError)
  return error
}

/** Bytes that a codec cannot show, or a value that has no bytes in it. */
export const encodingError = (message, cause) =>
  cause === undefined
    ? makeError('TWINDEX_ENCODING', message)
    : Object.assign(makeError('TWINDEX_ENCODING', message), { cause })

/** Bytes that are not of a format. */
export const notOf = (format, what, bytes) =>
  encodingError(`the ${what} is not ${format}: "${excerpt(bytes)}"`)

/** An argument of a wrong type. */
export const typeError = (message, got, cause) => makeError('TWINDEX_TYPE', message, got, cause)

/** An unknown or conflicting option, or a number out of range. */
export const rangeError = (message) => makeError('TWINDEX_RANGE', message)
