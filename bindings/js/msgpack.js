// Values as MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md). The libraries of the registry round
// integers of 64 bits, or give every one of them as a bigint; this keeps what is a safe integer a number and what is
// not a bigint, and needs no bundler in a browser.

import { encodingError, notOf } from './errors.js'
import { encodeText, readText } from './text.js'
import { DEPTH, hasOnlyItems, isMap, isPlain, refusal } from './values.js'
import { copyBytes, isBytes, lengthOf, viewBytes } from './views.js'

/** Thrown where a value is met that is not taken, of which `refusal` then says where it is. */
const REFUSED = Symbol('refused')
const LEAST = -(2n ** 63n)
const END = 2n ** 64n

class Writer {
  #bytes = new Uint8Array(256)
  #view = new DataView(this.#bytes.buffer)
  #length = 0

  get bytes() {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Makes room, in other bytes where these are too few: where it begins. */
  #room(more) {
    const start = this.#length
    this.#length += more
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#length)
      larger.set(this.#bytes.subarray(0, start))
      this.#bytes = larger
      this.#view = new DataView(larger.buffer)
    }
    return start
  }

  value(value, depth) {
    if (depth > DEPTH) throw REFUSED
    if (value === null) this.#head(0xc0)
    else if (typeof value === 'boolean') this.#head(value ? 0xc3 : 0xc2)
    else if (typeof value === 'number') this.#number(value)
    else if (typeof value === 'bigint') this.#bigint(value)
    else if (typeof value === 'string') this.#text(value)
    else if (typeof value !== 'object') throw REFUSED
    else if (isBytes(value)) this.#binary(viewBytes(value, 'value'))
    else if (Array.isArray(value)) this.#array(value, depth)
    else if (isPlain(value)) this.#map(Object.entries(value), depth)
    else if (isMap(value) && hasOtherKeys(value)) this.#map([...value], depth)
    else throw REFUSED
  }

  #head(byte) {
    const at = this.#room(1)
    this.#bytes[at] = byte
  }

  /** A head, and a number of one, two or four bytes behind it. */
  #sized(head, size, number) {
    const at = this.#room(1 + size)
    this.#bytes[at] = head
    if (size === 1) this.#view.setUint8(at + 1, number)
    else if (size === 2) this.#view.setUint16(at + 1, number)
    else this.#view.setUint32(at + 1, number)
  }

  /** A length: within the head where it is less than `small`, else behind one of the heads for a byte, two and four. */
  #counted(small, inHead, [one, two, four], length) {
    if (length < small) this.#head(inHead | length)
    else if (one !== undefined && length < 0x100) this.#sized(one, 1, length)
    else if (length < 0x1_0000) this.#sized(two, 2, length)
    else this.#sized(four, 4, length)
  }

  #number(number) {
    if (!Number.isSafeInteger(number) || Object.is(number, -0)) {
      const at = this.#room(9)
      this.#bytes[at] = 0xcb
      this.#view.setFloat64(at + 1, number)
    } else if (number >= 0) {
      if (number < 0x80) this.#head(number)
      else if (number < 0x100) this.#sized(0xcc, 1, number)
      else if (number < 0x1_0000) this.#sized(0xcd, 2, number)
      else if (number < 2 ** 32) this.#sized(0xce, 4, number)
      else this.#long(BigInt(number))
    } else if (number >= -32) this.#head(number)
    else if (number >= -0x80) this.#sized(0xd0, 1, number)
    else if (number >= -0x8000) this.#sized(0xd1, 2, number)
    else if (number >= -(2 ** 31)) this.#sized(0xd2, 4, number)
    else this.#long(BigInt(number))
  }

  /** One that a number could be would be read as that number. */
  #bigint(number) {
    if (problemOf(number) !== undefined) throw REFUSED
    this.#long(number)
  }

  #long(number) {
    const at = this.#room(9)
    this.#bytes[at] = number < 0n ? 0xd3 : 0xcf
    this.#view.setBigUint64(at + 1, BigInt.asUintN(64, number))
  }

  #text(text) {
    const encoded = encodeText(text, 'value')
    this.#counted(32, 0xa0, [0xd9, 0xda, 0xdb], encoded.length)
    const at = this.#room(encoded.length)
    this.#bytes.set(encoded, at)
  }

  #binary(bytes) {
    const length = lengthOf(bytes)
    this.#counted(0, 0, [0xc4, 0xc5, 0xc6], length)
    const at = this.#room(length)
    this.#bytes.set(bytes, at)
  }

  #array(array, depth) {
    if (!hasOnlyItems(array)) throw REFUSED
    this.#counted(16, 0x90, [undefined, 0xdc, 0xdd], array.length)
    for (let at = 0; at < array.length; at++) this.value(array[at], depth + 1)
  }

  #map(entries, depth) {
    this.#counted(16, 0x80, [undefined, 0xde, 0xdf], entries.length)
    for (const [key, value] of entries) {
      this.value(key, depth + 1)
      this.value(value, depth + 1)
    }
  }
}

/** Whether a Map is read back as one: an object stands for one whose keys are all strings. */
const hasOtherKeys = (map) => [...map.keys()].some((key) => typeof key !== 'string')

/** The fault of a value, not counting its items. */
function problemOf(value) {
  if (typeof value === 'bigint') {
    if (value < LEAST || value >= END) return 'an integer in a value must fit into 64 bits:'
    return Number.isSafeInteger(Number(value))
      ? 'a bigint this small would come back as a number: pass a number instead of'
      : undefined
  }
  if (value === null || ['boolean', 'number', 'string'].includes(typeof value)) return undefined
  if (typeof value !== 'object') return ''
  if (Array.isArray(value)) return hasOnlyItems(value) ? undefined : ''
  if (isBytes(value) || isPlain(value)) return undefined
  if (!isMap(value)) return ''
  return hasOtherKeys(value)
    ? undefined
    : 'a Map whose keys are all strings would come back as an object: pass an object instead of'
}

const RULES = { problemOf, drops: false }

class Reader {
  #bytes
  #view
  #at = 0

  constructor(bytes) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  whole() {
    const value = this.#value(0)
    if (this.#at !== this.#bytes.length) throw this.#damaged()
    return value
  }

  #damaged() {
    return notOf('MessagePack', 'value', this.#bytes)
  }

  /** Moves over so many bytes: where they start. */
  #take(length) {
    const at = this.#at
    if (length > this.#bytes.length - at) throw this.#damaged()
    this.#at = at + length
    return at
  }

  #value(depth) {
    if (depth > DEPTH) throw encodingError(`a value is at most ${DEPTH} deep`)
    const head = this.#bytes[this.#take(1)]
    if (head < 0x80) return head
    if (head < 0x90) return this.#map(head & 0x0f, depth)
    if (head < 0xa0) return this.#array(head & 0x0f, depth)
    if (head < 0xc0) return this.#text(head & 0x1f)
    if (head >= 0xe0) return head - 0x100
    return this.#headed(head, depth)
  }

  /** What one of the heads from 0xc0 on begins. */
  #headed(head, depth) {
    switch (head) {
      case 0xc0:
        return null
      case 0xc2:
        return false
      case 0xc3:
        return true
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return this.#binary(this.#size(head - 0xc4))
      case 0xca:
        return this.#view.getFloat32(this.#take(4))
      case 0xcb:
        return this.#view.getFloat64(this.#take(8))
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#size(head - 0xcc)
      case 0xcf:
        return exact(this.#view.getBigUint64(this.#take(8)))
      case 0xd0:
        return this.#view.getInt8(this.#take(1))
      case 0xd1:
        return this.#view.getInt16(this.#take(2))
      case 0xd2:
        return this.#view.getInt32(this.#take(4))
      case 0xd3:
        return exact(this.#view.getBigInt64(this.#take(8)))
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#size(head - 0xd9))
      case 0xdc:
      case 0xdd:
        return this.#array(this.#size(head - 0xdb), depth)
      case 0xde:
      case 0xdf:
        return this.#map(this.#size(head - 0xdd), depth)
      default:
        throw head === 0xc1 ? this.#damaged() : encodingError('a value has an extension of MessagePack')
    }
  }

  /** A length of one, two or four bytes. */
  #size(power) {
    if (power === 0) return this.#bytes[this.#take(1)]
    return power === 1 ? this.#view.getUint16(this.#take(2)) : this.#view.getUint32(this.#take(4))
  }

  #text(length) {
    return readText(this.#bytes, this.#take(length), length, 'value')
  }

  #binary(length) {
    const at = this.#take(length)
    return copyBytes(this.#bytes.subarray(at, at + length))
  }

  #array(length, depth) {
    const items = []
    for (let at = 0; at < length; at++) items.push(this.#value(depth + 1))
    return items
  }

  /** An object where all keys are strings, as they nearly always are; else a Map. */
  #map(length, depth) {
    const entries = []
    let areStrings = true
    for (let at = 0; at < length; at++) {
      const key = this.#value(depth + 1)
      areStrings &&= typeof key === 'string'
      entries.push([key, this.#value(depth + 1)])
    }
    return areStrings ? Object.fromEntries(entries) : new Map(entries)
  }
}

/** The number that this integer is, or itself where a number would round it. */
function exact(integer) {
  const number = Number(integer)
  return Number.isSafeInteger(number) ? number : integer
}

export const msgpack = {
  encode(value) {
    const writer = new Writer()
    try {
      writer.value(value, 0)
    } catch (error) {
      throw error === REFUSED ? refusal(value, 'MessagePack', RULES) : error
    }
    return writer.bytes
  },
  decode: (bytes) => new Reader(bytes).whole(),
}
