// Arrays as bytes that order as the arrays do: the codec `tuple` of every language.
//
// Each item is a byte that tells its type, then its content:
//
//   01                      null
//   02 content 00           bytes, every 00 in it followed by ff
//   03 content 00           a string in UTF-8, likewise
//   05 items 00             an array
//   14 - n, or 14 + n       an integer of n bytes: those of a negative one inverted
//   int 1e                  a fractional type's number that is equal to the integer
//   int 1f bits             a number between the integer and the next: by how much it is more than the integer, or
//                           where that is negative, the inverse of by how much it is less than the next
//   0b bits, 1d bits        a number that is less, or more, than any integer of 64 bits: of a negative one inverted
//
// JavaScript's numbers are integers where they are safe ones, and bigints are integers. What follows an item in a longer
// array is less than `1e`, and what belongs to the item is not: so the arrays that start with an array are those from
// its bytes up to these with a `1e` behind them.

import { encodingError, notOf, rangeError, typeError } from './errors.js'
import { fits } from './integers.js'
import { readText, writeText } from './text.js'
import { lengthOf, viewBytes } from './views.js'

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

const WORD = 2 ** 32
/** The first number that is more than any integer of 64 bits. */
const END_OF_INTEGERS = 2 ** 63
/** Arrays in arrays, so deep and no deeper: the stack is not endless. */
const DEPTH = 64
const ITEMS = 'an item of a key is null, a string, a number, a bigint, a Uint8Array or an array'

/** Eight bytes, as a number or as they are. */
const double = new DataView(new ArrayBuffer(8))

class Writer {
  bytes = new Uint8Array(64)
  length = 0

  room(more) {
    if (this.length + more <= this.bytes.length) return
    const larger = new Uint8Array(2 * (this.length + more))
    larger.set(this.bytes.subarray(0, this.length))
    this.bytes = larger
  }

  byte(byte) {
    this.room(1)
    this.bytes[this.length++] = byte
  }

  items(array, depth) {
    if (depth > DEPTH) throw encodingError(`arrays in a key are at most ${DEPTH} deep`)
    for (let at = 0; at < array.length; at++) this.item(array[at], depth)
  }

  item(item, depth) {
    if (typeof item === 'string') this.text(item)
    else if (typeof item === 'number') this.number(item)
    else if (typeof item === 'bigint') this.bigint(item)
    else if (item === null) this.byte(NULL)
    else if (ArrayBuffer.isView(item)) this.view(item)
    else if (Array.isArray(item)) {
      this.byte(ARRAY)
      this.items(item, depth + 1)
      this.byte(END)
    } else throw typeError(ITEMS, item)
  }

  text(text) {
    this.byte(TEXT)
    this.room(3 * text.length)
    const start = this.length
    this.length += writeText(this.bytes, start, text, 'key')
    this.escape(start)
  }

  view(view) {
    const content = viewBytes(view, 'key')
    const length = lengthOf(content)
    this.byte(BYTES)
    this.room(length)
    const start = this.length
    this.bytes.set(content, start)
    this.length += length
    this.escape(start)
  }

  /** Ends the content that begins at `start`, with its zeros escaped. */
  escape(start) {
    if (this.bytes.subarray(start, this.length).includes(END)) {
      const content = this.bytes.slice(start, this.length)
      this.length = start
      this.room(2 * content.length)
      for (const byte of content) {
        this.bytes[this.length++] = byte
        if (byte === END) this.bytes[this.length++] = NOT_THE_END
      }
    }
    this.byte(END)
  }

  /** An integer by its two words, of which the upper is positive and below 2^32. */
  words(isNegative, upper, lower) {
    let size = 0
    for (let rest = upper; rest > 0; rest = Math.floor(rest / 256)) size++
    if (size > 0) size += 4
    else for (let rest = lower; rest > 0; rest >>>= 8) size++
    this.room(9)
    this.bytes[this.length++] = isNegative ? ZERO - size : ZERO + size
    const invert = isNegative ? 0xff : 0
    for (let at = size - 1; at >= 0; at--) {
      const byte = at > 3 ? upper >>> (8 * (at - 4)) : lower >>> (8 * at)
      this.bytes[this.length++] = (byte ^ invert) & 0xff
    }
  }

  bigint(number) {
    if (!fits(number)) throw rangeError(`an integer in a key must fit into 64 bits: ${number}`)
    const size = number < 0n ? -number : number
    this.words(number < 0n, Number(size >> 32n), Number(size & 0xffff_ffffn))
  }

  number(number) {
    if (Number.isSafeInteger(number)) {
      const size = Math.abs(number)
      this.words(number < 0, Math.floor(size / WORD), size >>> 0)
    } else if (Number.isNaN(number)) throw encodingError('NaN in a key has no place in an order')
    else if (number >= END_OF_INTEGERS) this.bits(GREATEST_FLOATS, number, false)
    else if (number < -END_OF_INTEGERS) this.bits(LEAST_FLOATS, number, true)
    else this.fraction(number)
  }

  fraction(number) {
    const floor = Math.floor(number)
    this.bigint(BigInt(floor))
    // No number has a fraction and so many digits before it that a difference here would not be exact.
    if (floor === number) this.byte(WHOLE)
    else if (floor < 0) this.bits(BETWEEN, floor + 1 - number, true)
    else this.bits(BETWEEN, number - floor, false)
  }

  bits(kind, number, isInverted) {
    this.byte(kind)
    this.room(8)
    double.setFloat64(0, number)
    for (let at = 0; at < 8; at++) {
      this.bytes[this.length++] = isInverted ? ~double.getUint8(at) : double.getUint8(at)
    }
  }
}

class Reader {
  #bytes
  #at = 0
  /** Where the item begins that was begun last. */
  #start = 0

  constructor(bytes) {
    this.#bytes = bytes
  }

  all() {
    const items = []
    while (this.#at < this.#bytes.length) items.push(this.#item(0))
    return items
  }

  #damaged() {
    return notOf(`a tuple, from byte ${this.#start} on`, 'key', this.#bytes)
  }

  #byte() {
    if (this.#at === this.#bytes.length) throw this.#damaged()
    return this.#bytes[this.#at++]
  }

  #take(length) {
    const start = this.#at
    this.#at += length
    if (this.#at > this.#bytes.length) throw this.#damaged()
    return this.#bytes.subarray(start, this.#at)
  }

  #item(depth) {
    this.#start = this.#at
    const kind = this.#byte()
    if (kind === NULL) return null
    if (kind === BYTES) return new Uint8Array(this.#content())
    if (kind === TEXT) {
      const content = this.#content()
      return readText(content, 0, content.length, 'key')
    }
    if (kind === ARRAY && depth < DEPTH) {
      const items = []
      while (this.#bytes[this.#at] !== END) items.push(this.#item(depth + 1))
      this.#at++
      return items
    }
    const start = this.#at - 1
    if (kind === LEAST_FLOATS) return this.#asWritten(start, this.#bits(true))
    if (kind === GREATEST_FLOATS) return this.#asWritten(start, this.#bits(false))
    return this.#number(kind)
  }

  /** The content up to its end, without escapes. */
  #content() {
    const start = this.#at
    let escapes = 0
    for (;;) {
      const end = this.#bytes.indexOf(END, this.#at)
      if (end === -1) throw this.#damaged()
      this.#at = end + 1
      if (this.#bytes[this.#at] !== NOT_THE_END) break
      this.#at++
      escapes++
    }
    const content = this.#bytes.subarray(start, this.#at - 1)
    if (escapes === 0) return content
    return content.filter((_, at) => at === 0 || content[at] !== NOT_THE_END || content[at - 1] !== END)
  }

  /** The number that begins before, if it is what a writer makes of it. */
  #number(kind) {
    const start = this.#at - 1
    const size = Math.abs(kind - ZERO)
    if (size > 8) throw this.#damaged()
    const isNegative = kind < ZERO
    let integer = 0
    if (size <= 6) {
      for (const byte of this.#take(size)) integer = 256 * integer + (isNegative ? byte ^ 0xff : byte)
      if (isNegative) integer = -integer
    } else {
      let magnitude = 0n
      for (const byte of this.#take(size))
        magnitude = (magnitude << 8n) | BigInt(isNegative ? byte ^ 0xff : byte)
      integer = isNegative ? -magnitude : magnitude
      if (!fits(integer)) throw this.#damaged()
    }
    // Neither 0 nor the first byte of another number has bytes of its own.
    if (size > 0 && this.#bytes[start + 1] === (isNegative ? 0xff : 0)) throw this.#damaged()
    const number = Number(integer)
    const next = this.#bytes[this.#at]
    if (next === WHOLE) {
      this.#at++
      if (BigInt(number) !== BigInt(integer)) throw this.#damaged()
      return number
    }
    if (next === BETWEEN) {
      this.#at++
      return this.#asWritten(start, isNegative ? number + 1 - this.#bits(true) : number + this.#bits(false))
    }
    return Number.isSafeInteger(number) ? number : integer
  }

  /** The number, if a writer makes of it what is there from `start` on. */
  #asWritten(start, number) {
    const writer = new Writer()
    if (Number.isNaN(number)) throw this.#damaged()
    writer.number(number)
    const same = writer.length === this.#at - start
    for (let at = 0; at < writer.length; at++)
      if (!same || writer.bytes[at] !== this.#bytes[start + at]) throw this.#damaged()
    return number
  }

  #bits(isInverted) {
    this.#take(8).forEach((byte, at) => {
      double.setUint8(at, isInverted ? ~byte : byte)
    })
    return double.getFloat64(0)
  }
}

export const tupleKey = {
  encode(value) {
    if (!Array.isArray(value)) throw typeError('a key of this table is an array', value)
    const writer = new Writer()
    writer.items(value, 0)
    return writer.bytes.subarray(0, writer.length)
  },
  decode: (bytes) => new Reader(bytes).all(),
  /** Where the arrays end that start with one, as its bytes are. */
  endOfPrefix(bytes) {
    const end = new Uint8Array(bytes.length + 1)
    end.set(bytes)
    end[bytes.length] = WHOLE
    return end
  },
}
