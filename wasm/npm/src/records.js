// The records of a .twx file, which docs/file-format.md specifies.

import { makeError } from './shared/errors.js'

export const HEADER_BYTES = 24
export const HEAD_BYTES = 12
export const [TABLE, PAIRS, END, LOG, SYNCED] = [1, 2, 3, 4, 5]

export const MAGIC = [0x89, 0x54, 0x57, 0x58, 0x0d, 0x0a, 0x1a, 0x0a]
export const VERSION = 1
/** What every file begins with. */
const START = [...MAGIC, VERSION, 0, 0, 0]

const TABLES = makeTables()

/** Eight tables, so that eight bytes take one step. */
function makeTables() {
  const tables = Array.from({ length: 8 }, () => new Int32Array(256))
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (-(crc & 1) & 0xedb88320)
    tables[0][byte] = crc
  }
  for (let byte = 0; byte < 256; byte++) {
    for (let at = 1; at < 8; at++) {
      const before = tables[at - 1][byte]
      tables[at][byte] = (before >>> 8) ^ tables[0][before & 255]
    }
  }
  return tables
}

/** The CRC-32 of these bytes after those that gave `before`. */
export function crc32(bytes, before = 0) {
  const [a, b, c, d, e, f, g, h] = TABLES
  let crc = ~before
  let at = 0
  for (; at + 8 <= bytes.length; at += 8) {
    crc =
      h[(crc ^ bytes[at]) & 255] ^
      g[((crc >>> 8) ^ bytes[at + 1]) & 255] ^
      f[((crc >>> 16) ^ bytes[at + 2]) & 255] ^
      e[((crc >>> 24) ^ bytes[at + 3]) & 255] ^
      d[bytes[at + 4]] ^
      c[bytes[at + 5]] ^
      b[bytes[at + 6]] ^
      a[bytes[at + 7]]
  }
  for (; at < bytes.length; at++) crc = (crc >>> 8) ^ a[(crc ^ bytes[at]) & 255]
  return ~crc >>> 0
}

export const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** The checksum of a record's head without its payload. */
function headCrc(salt, offset, head) {
  const bytes = new Uint8Array(22)
  const view = viewOf(bytes)
  view.setBigUint64(0, salt, true)
  view.setBigUint64(8, BigInt(offset), true)
  bytes.set(head.subarray(0, 6), 16)
  return crc32(bytes)
}

/** Writes the checksums of the record that these bytes are. */
export function seal(salt, offset, record) {
  const crc = headCrc(salt, offset, record)
  const view = viewOf(record)
  view.setUint16(6, crc & 0xffff, true)
  view.setUint32(8, crc32(record.subarray(HEAD_BYTES), crc), true)
}

const lengthOf = (record) => {
  const view = viewOf(record)
  return view.getUint32(1, true) + record[5] * 2 ** 32
}

/** The bytes of the record that starts here, or `undefined` where there is none that is whole. */
export function recordAt(bytes, salt, offset) {
  const head = bytes.subarray(offset, offset + HEAD_BYTES)
  if (head.length < HEAD_BYTES || head[0] === 0 || head[0] > SYNCED) return undefined
  const crc = headCrc(salt, offset, head)
  const view = viewOf(head)
  if (view.getUint16(6, true) !== (crc & 0xffff)) return undefined
  const record = bytes.subarray(offset, offset + HEAD_BYTES + lengthOf(head))
  if (record.length < HEAD_BYTES + lengthOf(head)) return undefined
  return crc32(record.subarray(HEAD_BYTES), crc) === view.getUint32(8, true) ? record : undefined
}

/** How much of a file is whole, up to where its log was cut; `undefined` where its dump is not whole. What is damaged in the middle is an error. */
export function wholePart(bytes) {
  if (!hasHeader(bytes)) return undefined
  const salt = saltOf(bytes)
  let offset = HEADER_BYTES
  let isDump = false
  for (let record = recordAt(bytes, salt, offset); record; record = recordAt(bytes, salt, offset)) {
    offset += record.length
    isDump ||= record[0] === END
  }
  if (!isDump) return undefined
  for (let after = offset + 1; after < bytes.length; after++) {
    if (recordAt(bytes, salt, after)) throw corrupt(offset, 'good records follow a bad one')
  }
  return offset
}

export const corrupt = (offset, what) => makeError('TWINDEX_CORRUPT', `corrupt at byte ${offset}: ${what}`)

/** Whether these bytes are what writing a dump leaves when it is cut short, before the file was used. */
export function isUnfinished(bytes) {
  if (bytes.every((byte) => byte === 0)) return true
  if (bytes.length < HEADER_BYTES) return bytes.every((byte, at) => at >= 12 || byte === START[at])
  if (!hasHeader(bytes)) return false
  const salt = saltOf(bytes)
  return ![END, LOG, SYNCED].some((kind) => {
    for (let at = bytes.indexOf(kind, HEADER_BYTES); at !== -1; at = bytes.indexOf(kind, at + 1)) {
      if (recordAt(bytes, salt, at)) return true
    }
    return false
  })
}

const saltOf = (bytes) => viewOf(bytes).getBigUint64(12, true)

function hasHeader(bytes) {
  return (
    bytes.length >= HEADER_BYTES &&
    START.every((byte, at) => bytes[at] === byte) &&
    viewOf(bytes).getUint32(20, true) === crc32(bytes.subarray(0, 20))
  )
}

/** The bytes of a dump, sealed anew so that a log of this salt may follow. */
export function withSalt(dump, salt) {
  viewOf(dump).setBigUint64(12, salt, true)
  viewOf(dump).setUint32(20, crc32(dump.subarray(0, 20)), true)
  for (let offset = HEADER_BYTES; offset < dump.length; ) {
    const end = offset + HEAD_BYTES + lengthOf(dump.subarray(offset, offset + HEAD_BYTES))
    seal(salt, offset, dump.subarray(offset, end))
    offset = end
  }
  return dump
}

const encoder = new TextEncoder()

const PUT = 0
const DELETE = 1
export const CREATE = 2
const DROP = 3
const CLEAR = 4
export const POSITION = 5
/** The ids from here on follow the head of an operation. */
const FAR_ID = 31

/** Reads what is in a record. */
export class Payload {
  #bytes
  #at = HEAD_BYTES

  constructor(record) {
    this.#bytes = record
  }

  get isAtEnd() {
    return this.#at >= this.#bytes.length
  }

  byte() {
    return this.take(1)[0]
  }

  /** Seven bits a byte, the lowest first. */
  number() {
    let [number, unit, byte] = [0, 1, 128]
    for (; byte >= 128; unit *= 128) {
      byte = this.byte()
      number += (byte % 128) * unit
    }
    return number
  }

  take(length) {
    const start = this.#at
    this.#at += length
    if (!(this.#at <= this.#bytes.length)) throw makeError('TWINDEX_CORRUPT', 'a record ends too early')
    return this.#bytes.subarray(start, this.#at)
  }
}

/** The table of a record of pairs, and how many pairs it has. */
export function countPairs(record) {
  const payload = new Payload(record)
  const table = payload.number()
  // How many bytes each of the last pairs cut off the key before, how long its rest is, and its value.
  const steps = []
  let [pairs, key, value] = [0, 0, 0]
  const step = (cut, rest, length) => {
    key += rest - cut
    value = length
    steps.push({ cut, rest, value })
    if (steps.length > 8) steps.shift()
    pairs++
  }
  while (!payload.isAtEnd) {
    const token = payload.byte()
    const sameLength = (token & 64) !== 0
    if (token < 128) {
      const few = token & 31
      const shared = few === 31 ? 31 + payload.number() : few
      const rest = token & 32 ? key - shared : payload.number()
      const length = sameLength ? value : payload.number()
      payload.take(rest)
      payload.take(length)
      step(key - shared, rest, length)
      continue
    }
    const distance = ((token >> 3) & 7) + 1
    for (let left = Math.max(1, token & 7); left > 0; left--) {
      const like = steps.at(-distance)
      if (like === undefined) throw makeError('TWINDEX_CORRUPT', 'a pair is like one that is not there')
      const length = sameLength ? like.value : payload.number()
      if ((token & 7) === 0) payload.take(like.rest)
      payload.take(length)
      step(like.cut, like.rest, length)
    }
  }
  return { table, pairs }
}

/** The operations of a record: what each does, and to which table. */
export function readOperations(record) {
  const payload = new Payload(record)
  const operations = []
  while (!payload.isAtEnd) {
    const head = payload.byte()
    const [what, few] = [head & 7, head >> 3]
    const table = few === FAR_ID ? FAR_ID + payload.number() : few
    if (what === PUT) {
      const [key, value] = [payload.number(), payload.number()]
      payload.take(key)
      payload.take(value)
    } else if (what === DELETE || what === CREATE) payload.take(payload.number())
    else if (what === POSITION) payload.take(16)
    else if (what > POSITION) throw makeError('TWINDEX_CORRUPT', 'an operation that there is not')
    operations.push({ what, table })
  }
  return operations
}

/** The record that describes a table of this id and name, with bytes as keys and values, in order. */
export function tableRecord(id, name) {
  const operations = new Operations()
  const bytes = encoder.encode('bytes')
  operations.describe(id, { keys: bytes, values: bytes, name: encoder.encode(name) })
  return operations.take(TABLE)
}

/** Operations in the making, of which a file holds all or none. */
export class Operations {
  #bytes = new Uint8Array(1024)
  #length = HEAD_BYTES

  get isEmpty() {
    return this.#length === HEAD_BYTES
  }

  put(table, key, value) {
    this.#head(PUT, table)
    this.#number(key.length)
    this.#number(value.length)
    this.#push(key)
    this.#push(value)
  }

  delete(table, key) {
    this.#head(DELETE, table)
    this.#number(key.length)
    this.#push(key)
  }

  create(table, isSorted, { keys, values, name }) {
    this.#head(CREATE, table)
    this.#number(3 + keys.length + values.length + name.length)
    this.#entry(isSorted, { keys, values, name })
  }

  #entry(isSorted, { keys, values, name }) {
    this.#push([isSorted ? 1 : 0])
    for (const codec of [keys, values]) {
      this.#push([codec.length])
      this.#push(codec)
    }
    this.#push(name)
  }

  /** What the record of a table in a dump says: a sorted one, of nobody knows how many pairs. */
  describe(table, { keys, values, name }) {
    this.#number(table)
    this.#number(0)
    this.#entry(true, { keys, values, name })
  }

  drop(table) {
    this.#head(DROP, table)
  }

  clear(table) {
    this.#head(CLEAR, table)
  }

  /** The record of all of them for this place of the file; then there are none. */
  seal(salt, offset) {
    const record = this.take(LOG)
    seal(salt, offset, record)
    return record
  }

  /** The record of all of them before it has a place. */
  take(kind) {
    const record = this.#bytes.slice(0, this.#length)
    record[0] = kind
    viewOf(record).setUint32(1, this.#length - HEAD_BYTES, true)
    record[5] = 0
    this.#length = HEAD_BYTES
    return record
  }

  #head(what, table) {
    this.#push([what | (Math.min(table, FAR_ID) << 3)])
    if (table >= FAR_ID) this.#number(table - FAR_ID)
  }

  /** Seven bits a byte, the lowest first. */
  #number(number) {
    let left = number
    while (left >= 128) {
      this.#push([(left % 128) | 128])
      left = Math.floor(left / 128)
    }
    this.#push([left])
  }

  #push(bytes) {
    const end = this.#length + bytes.length
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(2 * end)
      grown.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = grown
    }
    this.#bytes.set(bytes, this.#length)
    this.#length = end
  }
}
