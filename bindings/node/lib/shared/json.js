// Values as JSON. Nothing is converted with loss: `JSON.stringify` makes `null` of what is no number, `JSON.parse` rounds
// integers past the safe ones, and both let half of a character pass, which no other language has. All are refused.

import { encodingError, typeError } from './errors.js'
import { isWellFormed } from './text.js'

const MESSAGE = 'a value of this table is what JSON can say'

/** Fails where a number is none that JSON has. */
function checkFinite(_, value) {
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  throw encodingError(`JSON has no number ${value}`)
}

function stringify(value, replacer) {
  try {
    return JSON.stringify(value, replacer)
  } catch (cause) {
    if (cause?.code === 'TWINDEX_ENCODING') throw cause
    throw typeError(MESSAGE, value, cause)
  }
}

/** Every string, and every number, of a text that is JSON. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g
/** Without one of these, every number is exact enough, and every string has whole characters. */
const SUSPICIOUS = /\d{16}|\d[eE]|\\u[dD][89a-fA-F]/

/** Fails where a text that is JSON says what JavaScript, or another language, would read as something else. */
function checkTokens(text) {
  for (const [token] of text.matchAll(TOKENS)) {
    if (token[0] !== '"') checkNumber(token)
    else if (token.includes('\\') && !isWellFormed(JSON.parse(token))) {
      throw encodingError('a value with a lone surrogate has no form in JSON')
    }
  }
}

function checkNumber(token) {
  const number = Number(token)
  if (!Number.isFinite(number))
    throw encodingError(`a value has the number ${token}, past all that there are`)
  // An integer of which a rounded number makes another one when it is written again.
  if (Number.isSafeInteger(number) || !/^-?\d+$/.test(token) || String(number) === token) return
  throw encodingError(
    `a value has the integer ${token}, which a number would round; read it with the codec "str" or one of your own`,
  )
}

export const json = {
  encode(value) {
    const text = stringify(value)
    if (text === undefined) throw typeError(MESSAGE, value)
    if (text.includes('null')) stringify(value, checkFinite)
    if (text.includes('\\ud')) checkTokens(text)
    return text
  },
  decode(text) {
    let value
    try {
      value = JSON.parse(text)
    } catch (cause) {
      throw encodingError(`the value is not JSON: ${cause.message}`, cause)
    }
    if (SUSPICIOUS.test(text)) checkTokens(text)
    return value
  },
}
