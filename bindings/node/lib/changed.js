// Changes as they crossed from the native half.

import { readText } from './shared/text.js'

/** What a change is, as in src/feed.rs. */
const KINDS = ['put', 'delete', 'create', 'drop', 'clear', 'lost', 'put']
const PUT = 0
const DELETE = 1
const CREATE = 2
const LOST = 5
const EXPIRING = 6

/** An item of a codec, out of bytes that hold others too. */
function decode(codec, bytes, start, length, what) {
  if (codec.isBytes) return codec.show(bytes.subarray(start, start + length))
  return codec.show(readText(bytes, start, length, what))
}

/** Batches of changes as they crossed, of which one after the other is decoded. */
export class Block {
  #tables
  #batches
  #bytes
  #view
  #at = 0
  #offset = 0

  /** In four bytes how long the JSON behind them is, that JSON, and the changes. */
  constructor(crossed) {
    const start = 4 + crossed.readUInt32LE(0)
    const { tables, batches } = JSON.parse(crossed.toString('utf8', 4, start))
    const bytes = crossed.subarray(start)
    this.#tables = tables
    this.#batches = batches
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get isEmpty() {
    return this.#at === this.#batches.length
  }

  /** The next batch. Where it cannot be decoded, it is still the next one afterwards. */
  next(codecs) {
    const { position, count } = this.#batches[this.#at]
    const changes = []
    let offset = this.#offset
    for (let left = count; left > 0; left--) {
      const [kind, number, keyLength, valueLength] = this.#head(offset)
      const key = offset + 13
      const value = key + keyLength
      offset = value + valueLength + (kind === EXPIRING ? 8 : 0)
      const table = this.#tables[number]
      if (codecs.isWanted(table)) {
        changes.push(this.#change(kind, table, codecs, { key, keyLength, value, valueLength }))
      }
    }
    this.#offset = offset
    this.#at++
    return { position, changes }
  }

  #head(offset) {
    const word = (at) => this.#view.getUint32(offset + at, true)
    return [this.#view.getUint8(offset), word(1), word(5), word(9)]
  }

  #change(kind, table, codecs, { key, keyLength, value, valueLength }) {
    const change = { kind: KINDS[kind], table: table.name }
    if (kind === CREATE) {
      return Object.assign(change, { index: table.index, codecs: { keys: table.keys, values: table.values } })
    }
    if (kind === LOST) return Object.assign(change, { count: Number(this.#view.getBigUint64(key, true)) })
    if (![PUT, DELETE, EXPIRING].includes(kind)) return change
    const { keys, values } = codecs.of(table)
    change.key = decode(keys, this.#bytes, key, keyLength, 'key')
    if (kind !== DELETE) change.value = decode(values, this.#bytes, value, valueLength, 'value')
    if (kind === EXPIRING) change.expires = Number(this.#view.getBigUint64(value + valueLength, true))
    return change
  }
}
