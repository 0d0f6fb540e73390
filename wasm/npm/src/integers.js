// Integers of 64 bits: as keys, eight bytes that order as the numbers do; as values, decimal text. It is the format of the
// Node package and of Python's codec `int`.

import { encodingError, makeError, rangeError, typeError } from './errors.js'

const KEY_BYTES = 8
const SIGN = 1n << 63n
const DECIMAL = /^[+-]?\d+$/

export const fits = (integer) => BigInt.asIntN(64, integer) === integer

/** Integers as the user has them: numbers, or bigints. */
const numbers = {
  read(value, what) {
    if (Number.isSafeInteger(value)) return BigInt(value)
    if (typeof value !== 'number' || !Number.isInteger(value)) {
      throw typeError(`a ${what} of this table is an integer`, value)
    }
    throw rangeError(`the ${what} ${value} is past Number.MAX_SAFE_INTEGER: it takes the encoding "bigint"`)
  },
  show(integer, what) {
    const number = Number(integer)
    if (Number.isSafeInteger(number)) return number
    const message = `the ${what} ${integer} is past Number.MAX_SAFE_INTEGER: it takes the encoding "bigint"`
    throw encodingError(message)
  },
}

export const bigints = {
  read(value, what) {
    if (typeof value !== 'bigint') throw typeError(`a ${what} of this table is a bigint`, value)
    if (!fits(value)) throw rangeError(`a ${what} of this table has 64 bits, unlike ${value}`)
    return value
  },
  show: (integer) => integer,
}

/** The order of the bytes is that of the numbers once the sign is turned over. */
const key = ({ read, show }) => ({
  encode(value) {
    const bytes = new Uint8Array(KEY_BYTES)
    new DataView(bytes.buffer).setBigUint64(0, BigInt.asUintN(64, read(value, 'key')) ^ SIGN)
    return bytes
  },
  decode(bytes) {
    if (bytes.length !== KEY_BYTES) {
      throw encodingError(`a key is not an integer of 8 bytes, it has ${bytes.length}`)
    }
    const turned = new DataView(bytes.buffer, bytes.byteOffset, KEY_BYTES).getBigUint64(0)
    return show(BigInt.asIntN(64, turned ^ SIGN), 'key')
  },
})

const value = ({ read, show }) => ({
  encode: (integer) => String(read(integer, 'value')),
  decode(text) {
    const integer = DECIMAL.test(text) ? BigInt(text.replace('+', '')) : SIGN
    if (fits(integer)) return show(integer, 'value')
    const start = text.length > 40 ? `${text.slice(0, 40)}...` : text
    const message = `a value is not a decimal integer of 64 bits: ${JSON.stringify(start)}`
    throw makeError('TWINDEX_NOT_AN_INTEGER', message)
  },
})

export const intKey = key(numbers)
export const bigintKey = key(bigints)
export const intValue = value(numbers)
export const bigintValue = value(bigints)
