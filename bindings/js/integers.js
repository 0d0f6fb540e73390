// Integers of 64 bits: as keys, eight bytes that order as the numbers do; as values, decimal text. The codec is `int`
// in every language; `bigint` is the same, seen as bigints.

import { encodingError, excerpt, makeError, rangeError, typeError } from './errors.js'
import { encodeText } from './text.js'

const KEY_BYTES = 8
/** A sign and zeros before the number are read over, as by `increment`. */
const DECIMAL = /^[+-]?\d+$/
const SIGN = 0x8000_0000
const WORD = 2 ** 32

/** Whether a bigint has 64 bits. */
export const fits = (integer) => BigInt.asIntN(64, integer) === integer

/** An integer that a number can be, exactly. */
function readNumber(value, what) {
  if (Number.isSafeInteger(value)) return value
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    throw typeError(`a ${what} of this table is an integer`, value)
  }
  throw rangeError(`a ${what} past Number.MAX_SAFE_INTEGER needs the codec "bigint": ${value}`)
}

function readBigint(value, what) {
  if (typeof value !== 'bigint') throw typeError(`a ${what} of this table is a bigint`, value)
  if (!fits(value)) throw rangeError(`a ${what} of this table must fit into 64 bits: ${value}`)
  return value
}

function unsafe(what, number) {
  return encodingError(
    `the ${what} ${number} is past Number.MAX_SAFE_INTEGER; read it with the codec "bigint"`,
  )
}

function keyView(bytes) {
  if (bytes.length === KEY_BYTES) return new DataView(bytes.buffer, bytes.byteOffset, KEY_BYTES)
  throw encodingError(`the key is not an integer of 8 bytes, it has ${bytes.length}: "${excerpt(bytes)}"`)
}

/** The order of the bytes is that of the numbers once the sign is turned over. */
export const intKey = {
  encode(value) {
    const number = readNumber(value, 'key')
    const bytes = new Uint8Array(KEY_BYTES)
    const view = new DataView(bytes.buffer)
    view.setUint32(0, Math.floor(number / WORD) ^ SIGN)
    view.setUint32(4, number)
    return bytes
  },
  decode(bytes) {
    const view = keyView(bytes)
    const number = (view.getUint32(0) ^ SIGN) * WORD + view.getUint32(4)
    if (Number.isSafeInteger(number)) return number
    throw unsafe('key', bigintKey.decode(bytes))
  },
}

export const bigintKey = {
  encode(value) {
    const bytes = new Uint8Array(KEY_BYTES)
    new DataView(bytes.buffer).setBigUint64(0, BigInt.asUintN(64, readBigint(value, 'key')) ^ (1n << 63n))
    return bytes
  },
  decode: (bytes) => BigInt.asIntN(64, keyView(bytes).getBigUint64(0) ^ (1n << 63n)),
}

/** A number where that is exact, else a bigint. */
function readDecimal(text) {
  if (DECIMAL.test(text)) {
    const number = Number(text)
    // Not -0, which an integer does not have.
    if (Number.isSafeInteger(number)) return number + 0
    const big = BigInt(text.replace('+', ''))
    if (fits(big)) return big
  }
  const shown = excerpt(encodeText(text, 'value'))
  throw makeError('TWINDEX_NOT_AN_INTEGER', `the value is not a decimal integer of 64 bits: "${shown}"`)
}

export const intValue = {
  encode(value) {
    const number = readNumber(value, 'value')
    // It would be read as 0.
    if (Object.is(number, -0)) throw encodingError('an integer has no -0: pass 0 instead')
    return String(number)
  },
  decode(text) {
    const number = readDecimal(text)
    if (typeof number === 'number') return number
    throw unsafe('value', number)
  },
}

export const bigintValue = {
  encode: (value) => String(readBigint(value, 'value')),
  decode: (text) => BigInt(readDecimal(text)),
}
