// Arrays as keys, as bytes that order as the arrays do: the format of the Node package and of Python's codec `tuple`.
//
// Each item is a byte that tells its type, then its content:
//
//   01                      null
//   02 content 00           bytes, every 00 in it followed by ff
//   03 content 00           a string in UTF-8, likewise
//   05 items 00             an array
//   14 - n, or 14 + n       an integer of n bytes: those of a negative one inverted
//   int 1e                  a number past the safe integers that is equal to the integer
//   int 1f bits             a number between the integer and the next: by how much it is more than the integer, or
//                           where that is negative, the inverse of by how much it is less than the next
//   0b bits, 1d bits        a number that is less, or more, than any integer of 64 bits: of a negative one inverted

import { encodingError, notOf, typeError } from './errors.js'
import { bigints, fits } from './integers.js'
import { encodeText, readText } from './text.js'
import { viewBytes } from './views.js'

const END = 0x00
const NULL = 0x01
const BYTES = 0x02
const TEXT = 0x03
const ARRAY = 0x05
const LEAST_FLOATS = 0x0b
const ZERO = 0x14
const GREATEST_FLOATS = 0x1d
const WHOLE = 0x1e
const BETWEEN = 0x1f
const NOT_THE_END = 0xff

/** Arrays in arrays, so deep and no deeper: the stack is not endless. */
const DEPTH = 64

const double = new DataView(new ArrayBuffer(8))

// --- writing

function writeItems(to, array, depth) {
  if (depth > DEPTH) throw encodingError(`a key is at most ${DEPTH} arrays deep`)
  for (let at = 0; at < array.length; at++) writeItem(to, array[at], depth)
}

function writeItem(to, item, depth) {
  if (item === null) to.push(NULL)
  else if (typeof item === 'string') writeContent(to, TEXT, encodeText(item, 'key'))
  else if (typeof item === 'number' || typeof item === 'bigint') writeNumber(to, item)
  else if (ArrayBuffer.isView(item)) {
    writeContent(to, BYTES, viewBytes(item))
  } else if (Array.isArray(item)) {
    to.push(ARRAY)
    writeItems(to, item, depth + 1)
    to.push(END)
  } else {
    throw typeError('an item of a key is null, a string, a number, a bigint, bytes or an array', item)
  }
}

function writeContent(to, kind, content) {
  to.push(kind)
  for (const byte of content) {
    to.push(byte)
    if (byte === END) to.push(NOT_THE_END)
  }
  to.push(END)
}

function writeNumber(to, number) {
  if (Number.isNaN(number)) throw encodingError('NaN has no order')
  const isNumber = typeof number === 'number'
  if (isNumber && number >= 2 ** 63) return writeBits(to, GREATEST_FLOATS, number, 0)
  if (isNumber && number < -(2 ** 63)) return writeBits(to, LEAST_FLOATS, number, 0xff)
  const floor = bigints.read(isNumber ? BigInt(Math.floor(number)) : number, 'key')
  const mask = floor < 0n ? 0xff : 0
  const bytes = []
  for (let rest = mask ? -floor : floor; rest > 0n; rest >>= 8n) bytes.unshift(Number(rest & 0xffn) ^ mask)
  to.push(mask ? ZERO - bytes.length : ZERO + bytes.length, ...bytes)
  if (!isNumber || Number.isSafeInteger(number)) return
  const whole = Number(floor)
  // No number has a fraction and so many digits before it that a difference here would not be exact.
  if (whole === number) to.push(WHOLE)
  else writeBits(to, BETWEEN, mask ? whole + 1 - number : number - whole, mask)
}

function writeBits(to, kind, number, mask) {
  to.push(kind)
  double.setFloat64(0, number)
  for (let at = 0; at < 8; at++) to.push(double.getUint8(at) ^ mask)
}

// --- reading

/** The array that these bytes are. */
function read(bytes) {
  let at = 0

  const damaged = () => notOf('a tuple', 'key', bytes)

  const next = () => {
    if (at === bytes.length) throw damaged()
    return bytes[at++]
  }

  const readItem = (depth) => {
    const kind = next()
    if (kind === NULL) return null
    if (kind === BYTES) return readContent()
    if (kind === TEXT) {
      const content = readContent()
      return readText(content, 0, content.length, 'key')
    }
    if (kind === ARRAY && depth < DEPTH) {
      const items = []
      while (bytes[at] !== END) items.push(readItem(depth + 1))
      at++
      return items
    }
    if (kind === LEAST_FLOATS) return asWritten(at - 1, readBits(0xff))
    if (kind === GREATEST_FLOATS) return asWritten(at - 1, readBits(0))
    return readNumber(kind)
  }

  const readContent = () => {
    const content = []
    for (;;) {
      const byte = next()
      if (byte === END) {
        if (bytes[at] !== NOT_THE_END) return Uint8Array.from(content)
        at++
      }
      content.push(byte)
    }
  }

  /** The number, if a writer makes of it what is there from `start` on. */
  const asWritten = (start, number) => {
    const again = []
    if (Number.isNaN(number)) throw damaged()
    writeNumber(again, number)
    if (again.length !== at - start || again.some((byte, place) => byte !== bytes[start + place]))
      throw damaged()
    return number
  }

  const readNumber = (kind) => {
    const start = at - 1
    const size = Math.abs(kind - ZERO)
    if (size > 8) throw damaged()
    const mask = kind < ZERO ? 0xff : 0
    let integer = 0n
    for (let left = size; left > 0; left--) integer = (integer << 8n) | BigInt(next() ^ mask)
    if (mask) integer = -integer
    // Neither 0 nor the first byte of another number has bytes of its own.
    if (!fits(integer) || (size > 0 && bytes[start + 1] === mask)) throw damaged()
    const number = Number(integer)
    if (bytes[at] === BETWEEN) {
      at++
      return asWritten(start, mask ? number + 1 - readBits(mask) : number + readBits(mask))
    }
    if (bytes[at] === WHOLE) {
      at++
      if (BigInt(number) !== integer) throw damaged()
    } else if (!Number.isSafeInteger(number)) return integer
    return number
  }

  const readBits = (mask) => {
    for (let byte = 0; byte < 8; byte++) double.setUint8(byte, next() ^ mask)
    return double.getFloat64(0)
  }

  const items = []
  while (at < bytes.length) items.push(readItem(0))
  return items
}

export const tupleKey = {
  encode(value) {
    if (!Array.isArray(value)) throw typeError('a key of this table is an array', value)
    const bytes = []
    writeItems(bytes, value, 0)
    return Uint8Array.from(bytes)
  },
  decode: read,
}

/** Where the arrays end that start with one: what follows an item is less than `1e`, and what belongs to it is not. */
export const endOfPrefix = (bytes) => Uint8Array.of(...bytes, WHOLE)
