// Packed blocks: many items in one call of the module. All arguments are read and converted before the first is packed,
// and the module checks them before the first write.

import { ABSENT } from './core.js'
import { readAmount } from './shared/amounts.js'
import { readIterable, readTuple } from './shared/options.js'
import { KEYS, VALUES } from './shared/table.js'

/** A block of the module's ends once its pairs have so many bytes. */
export const BLOCK_BYTES = 8 * 1024

/** Between the items of a generator the user may write into a buffer that was given; those of an array come at once. */
const owned = (list, codec) =>
  Array.isArray(list) ? codec.toItem : (value, what) => codec.own(codec.toItem(value, what))

/** Packs items, which have the codecs in turn: the length of the block. */
function pack(core, items, codecs) {
  const step = codecs.length
  const head = 4 * step
  let offset = 0
  for (let first = 0; first < items.length; first += step) {
    core.room(offset, head)
    let end = offset + head
    for (let position = 0; position < step; position++) {
      const item = items[first + position]
      const what = position === 0 ? 'key' : 'value'
      const length = item === undefined ? ABSENT : codecs[position].write(core, end, item, what)
      core.view.setUint32(core.input + offset + 4 * position, length, true)
      if (item !== undefined) end += length
    }
    offset = end
  }
  return offset
}

/** The items of all keys. */
export function readKeys({ keys }, list) {
  const toKey = owned(list, keys)
  return Array.from(readIterable(list, 'the keys'), (key) => toKey(key, 'key'))
}

export const packKeys = (core, codecs, list) => pack(core, readKeys(codecs, list), [codecs.keys])

/** The items of all pairs, each key before its value. */
export function readPairs({ keys, values }, list) {
  const [toKey, toValue] = [owned(list, keys), owned(list, values)]
  const items = []
  for (const pair of readIterable(list, 'the pairs')) {
    const [key, value] = readTuple(pair, 2, 'the pairs')
    items.push(toKey(key, 'key'), toValue(value, 'value'))
  }
  return items
}

export const packPairs = (core, codecs, list) =>
  pack(core, readPairs(codecs, list), [codecs.keys, codecs.values])

export function packSwaps(core, { keys, values }, list) {
  const [toKey, toValue] = [owned(list, keys), owned(list, values)]
  const toItem = (value) => (values.isNone(value) ? undefined : toValue(value, 'value'))
  const items = []
  for (const swap of readIterable(list, 'the swaps')) {
    const [key, expected, value] = readTuple(swap, 3, 'the swaps')
    items.push(toKey(key, 'key'), toItem(expected), toItem(value))
  }
  return pack(core, items, [keys, values, values])
}

/** The length of the block, and the amounts as they were given. */
export function packAmounts(core, { keys }, list) {
  const toKey = owned(list, keys)
  const items = []
  const amounts = []
  for (const entry of readIterable(list, 'the amounts')) {
    const [key, by] = readTuple(entry, 2, 'the amounts')
    items.push([toKey(key, 'key'), readAmount(by)])
    amounts.push(by)
  }
  let offset = 0
  for (const [item, by] of items) {
    core.room(offset, 12)
    const length = keys.write(core, offset + 12, item, 'key')
    core.view.setUint32(core.input + offset, length, true)
    core.view.setBigInt64(core.input + offset + 4, by, true)
    offset += 12 + length
  }
  return [offset, amounts]
}

/** The last answer's packed values, each possibly absent. */
export function unpackValues(core, codec) {
  const { answerCount } = core
  const block = new Block(core)
  const values = []
  for (let at = 0; at < answerCount; at++) values.push(block.value(codec))
  return values
}

/** So many bytes are decoded at once: each short string that is cut off keeps them all. */
const WINDOW = 4096
/** A longer text is decoded by itself, since its length is no ASCII. */
const LONG = 127
/** So many blocks are not tried behind one with text that is not ASCII. */
const TRIED_AFTER = 16
/** What stands for bytes that are not UTF-8. */
const NO_CODE = '\ufffd'

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** A copy of a packed block that the module has answered with, and a place in it. Showing an item may run code that calls the module. */
export class Block {
  #bytes = new Uint8Array(0)
  #view
  #at = 0
  #end = 0
  /** Where the key that was taken last is. */
  #key = 0
  #keyEnd = 0
  /** The text of the bytes from `#textAt` on, of which each is a character. */
  #text = ''
  #textAt = 0
  /** How many blocks, this one included, are read item by item. */
  #untried = 0

  constructor(core) {
    this.fill(core)
  }

  /** Copies another block into the same memory, which is quicker than to give it back and take other. */
  fill(core) {
    const { answerAt: at, answerLength: length } = core
    if (length > this.#bytes.length) {
      this.#bytes = new Uint8Array(this.#end === 0 ? length : Math.max(length, BLOCK_BYTES))
      this.#view = new DataView(this.#bytes.buffer)
    }
    this.#bytes.set(core.bytes.subarray(at, at + length))
    this.#at = 0
    this.#end = length
    this.#text = ''
    this.#textAt = 0
    if (this.#untried > 0) this.#untried--
    return this
  }

  get isEmpty() {
    return this.#at === this.#end
  }

  get lastKey() {
    return this.#bytes.slice(this.#key, this.#keyEnd)
  }

  /** The next length. */
  length() {
    const at = this.#at
    this.#at = at + 4
    return this.#view.getUint32(at, true)
  }

  /** Moves over an item that may be absent: where it starts. */
  #pass(length) {
    const at = this.#at
    if (length !== ABSENT) this.#at = at + length
    return at
  }

  #passKey(length) {
    this.#key = this.#pass(length)
    this.#keyEnd = this.#at
    return this.#key
  }

  /** An item as the user sees it. To cut a short text off a long one takes a tenth of the time of decoding it. */
  #show(codec, at, length, what) {
    if (codec.isBytes) return codec.read(this.#bytes, at, length, what)
    const start = at - this.#textAt
    if (start + length > this.#text.length) return this.#decode(codec, at, length, what)
    return codec.show(this.#text.slice(start, start + length))
  }

  #decode(codec, at, length, what) {
    if (length > LONG || this.#untried > 0) return codec.read(this.#bytes, at, length, what)
    // The lengths between items that are not long are characters too.
    const bytes = this.#bytes.subarray(at, Math.min(at + WINDOW, this.#end))
    const text = decoder.decode(bytes)
    if (text.length !== bytes.length || text.includes(NO_CODE)) {
      this.#untried = TRIED_AFTER
      return codec.read(this.#bytes, at, length, what)
    }
    this.#text = text
    this.#textAt = at
    return codec.show(text.slice(0, length))
  }

  /** The next value; it may be absent. */
  value(codec) {
    const length = this.length()
    const at = this.#pass(length)
    return length === ABSENT ? undefined : this.#show(codec, at, length, 'value')
  }

  /** Of the next pair: what keeps its key's item, shows its key, shows its value, and keeps its value's item; the value may be absent. */
  deferred({ keys, values }) {
    const keyLength = this.length()
    const valueLength = this.length()
    const key = this.#passKey(keyLength)
    const value = this.#pass(valueLength)
    const bytes = this.#bytes
    return [
      () => keys.keep(bytes, key, keyLength, 'key'),
      () => keys.read(bytes, key, keyLength, 'key'),
      () => (valueLength === ABSENT ? undefined : values.read(bytes, value, valueLength, 'value')),
      () => values.keep(bytes, value, valueLength, 'value'),
    ]
  }

  /** The same, with the key's item at once. */
  row(codecs) {
    const [keep, ...rest] = this.deferred(codecs)
    return [keep(), ...rest]
  }

  /** The next pair, of which `want` says what to read. */
  pair({ keys, values }, want) {
    const keyLength = this.length()
    const valueLength = this.length()
    const key = this.#passKey(keyLength)
    const value = this.#pass(valueLength)
    if (want === KEYS) return this.#show(keys, key, keyLength, 'key')
    if (want === VALUES) return this.#show(values, value, valueLength, 'value')
    if (!keys.isTheirs) {
      return [this.#show(keys, key, keyLength, 'key'), this.#show(values, value, valueLength, 'value')]
    }
    // Code of the user's may have this block filled again.
    const kept = values.keep(this.#bytes, value, valueLength, 'value')
    return [this.#show(keys, key, keyLength, 'key'), values.show(kept)]
  }
}
