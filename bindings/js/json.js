// Values as JSON. Nothing is converted with loss: `JSON.stringify` makes `null` of what is no number, text of a Date and `{}` of
// a Map, `JSON.parse` rounds integers past the safe ones, and both let half of a character pass, which no other language has.
// All are refused. A property that is `undefined` is one that is not there.

import { encodingError } from './errors.js'
import { isWellFormed } from './text.js'
import { DEPTH, hasOnlyItems, isPlain, refusal } from './values.js'

/** Whether it is finite, and not -0. */
const isNumber = (number) => number - number === 0 && (number !== 0 || 1 / number > 0)

/** Whether a value is read back as it is. */
function isJson(value, depth) {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return isNumber(value)
    case 'object':
      break
    default:
      return false
  }
  if (value === null) return true
  if (depth > DEPTH) return false
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const each = value[at]
      // Without a call for what arrays mostly have.
      if (typeof each === 'number' ? !isNumber(each) : typeof each !== 'string' && !isJson(each, depth + 1))
        return false
    }
    return isJsonArray(value)
  }
  if (!isPlain(value)) return false
  for (const name of Object.keys(value)) {
    const each = value[name]
    if (each !== undefined && !isJson(each, depth + 1)) return false
  }
  return true
}

const isJsonArray = (array) => array.toJSON === undefined && hasOnlyItems(array)

function problemOf(value) {
  if (typeof value === 'number') return isJson(value, 0) ? undefined : 'JSON has no number'
  if (typeof value !== 'object' || value === null) return isJson(value, 0) ? undefined : ''
  return (Array.isArray(value) ? isJsonArray(value) : isPlain(value)) ? undefined : ''
}

const RULES = { problemOf, drops: true }

/** The start of a string, or a number, in a text that is JSON. No pattern of a whole string: for a long one V8's stack ends. */
const TOKEN = /"|-?\d[\d.eE+-]*/g
/** Without one of these, every number is exact enough, and every string has whole characters. */
const SUSPICIOUS = /\d{16}|\d[eE]|\\u[dD][89a-fA-F]/

/** Where a string ends that begins before: behind a quote with an even number of backslashes before it. */
function endOfString(text, start) {
  for (let end = start; ; ) {
    const quote = text.indexOf('"', end)
    let before = quote
    while (text[before - 1] === '\\') before--
    end = quote + 1
    if ((quote - before) % 2 === 0) return end
  }
}

/** Fails where a text that is JSON says what JavaScript, or another language, would read as something else. */
function checkTokens(text) {
  TOKEN.lastIndex = 0
  for (let found = TOKEN.exec(text); found !== null; found = TOKEN.exec(text)) {
    const [token] = found
    if (token !== '"') {
      checkNumber(token)
      continue
    }
    TOKEN.lastIndex = endOfString(text, TOKEN.lastIndex)
    const string = text.slice(found.index, TOKEN.lastIndex)
    if (string.includes('\\') && !isWellFormed(JSON.parse(string))) {
      throw encodingError('a value with a lone surrogate has no form in JSON')
    }
  }
}

function checkNumber(token) {
  const number = Number(token)
  if (!Number.isFinite(number)) throw encodingError(`the number ${token} in a value is too large`)
  // An integer of which a rounded number makes another one when it is written again.
  if (Number.isSafeInteger(number) || !/^-?\d+$/.test(token) || String(number) === token) return
  throw encodingError(
    `a number would round the integer ${token} in a value: read it with the codec "str", or with your own`,
  )
}

export const json = {
  encode(value) {
    if (!isJson(value, 0)) throw refusal(value, 'JSON', RULES)
    const text = JSON.stringify(value)
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
