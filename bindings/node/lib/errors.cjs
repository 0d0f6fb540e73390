'use strict'
// Errors. Whatever their class, `code` says what went wrong, with the same names in every language.

const { inspect } = require('node:util')

/** The engine, or the binding, refused; `code` says why. */
class TwindexError extends Error {
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
const BUILT_IN = { TWINDEX_TYPE: TypeError, TWINDEX_RANGE: RangeError }

/** A value for a message: short, and without running any code of the value's own. */
function describe(value) {
  try {
    return inspect(value, {
      depth: 0,
      maxStringLength: 40,
      maxArrayLength: 3,
      breakLength: Infinity,
      customInspect: false,
    })
  } catch {
    return `a value of type ${typeof value}`
  }
}

/** Makes an error, for the native half and for this one; with a third argument it names the offending value. */
function makeError(code, message, ...got) {
  const text = got.length > 0 ? `${message}, not ${describe(got[0])}` : message
  const BuiltIn = BUILT_IN[code]
  const error =
    BuiltIn === undefined ? new TwindexError(code, text) : Object.assign(new BuiltIn(text), { code })
  Error.captureStackTrace(error, makeError)
  return error
}

/** An argument of a wrong type. */
const typeError = (message, got) => makeError('TWINDEX_TYPE', message, got)

/** An unknown or conflicting option, or a number out of range. */
const rangeError = (message) => makeError('TWINDEX_RANGE', message)

module.exports = { TwindexError, makeError, typeError, rangeError, describe }
