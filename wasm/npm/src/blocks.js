// Packed blocks: many items in one call of the module. All arguments are read and converted before the first is packed,
// and the module checks them before the first write.

import { ABSENT } from './core.js'
import { readAmount } from './shared/amounts.js'
import { readIterable, readTuple } from './shared/options.js'
import { KEYS, VALUES } from './shared/table.js'

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

export function packKeys(core, { keys }, list) {
  const toKey = owned(list, keys)
  const items = []
  for (const key of readIterable(list, 'the keys')) items.push(toKey(key, 'key'))
  return pack(core, items, [keys])
}

export function packPairs(core, { keys, values }, list) {
  const [toKey, toValue] = [owned(list, keys), owned(list, values)]
  const items = []
  for (const pair of readIterable(list, 'the pairs')) {
    const [key, value] = readTuple(pair, 2, 'the pairs')
    items.push(toKey(key, 'key'), toValue(value, 'value'))
  }
  return pack(core, items, [keys, values])
}

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
  const block = new Block(core)
  return Array.from({ length: core.answerCount }, () => {
    const length = block.length()
    return length === ABSENT ? undefined : codec.read(block.bytes, block.take(length), length, 'value')
  })
}

/** A copy of the last answer's packed block, and a place in it. Showing an item may run code that calls the module. */
export class Block {
  #view
  #at = 0
  /** Where the key that was taken last is. */
  lastKey = [0, 0]

  constructor(core) {
    this.bytes = core.answerBytes()
    this.#view = new DataView(this.bytes.buffer)
  }

  get isEmpty() {
    return this.#at === this.bytes.length
  }

  length() {
    return this.#view.getUint32(this.take(4), true)
  }

  /** Moves over so many bytes: where they start. */
  take(length) {
    const at = this.#at
    this.#at += length
    return at
  }

  /** The item of the next pair's key, functions that show both halves, and one for the value's item; the value may be absent. */
  row({ keys, values }) {
    const keyLength = this.length()
    const valueLength = this.length()
    const key = this.take(keyLength)
    const value = valueLength === ABSENT ? undefined : this.take(valueLength)
    this.lastKey = [key, key + keyLength]
    return [
      keys.keep(this.bytes, key, keyLength, 'key'),
      () => keys.read(this.bytes, key, keyLength, 'key'),
      () => (value === undefined ? undefined : values.read(this.bytes, value, valueLength, 'value')),
      () => values.keep(this.bytes, value, valueLength, 'value'),
    ]
  }

  /** The next pair, of which `want` says what to read. */
  pair(codecs, want) {
    const keyLength = this.length()
    const valueLength = this.length()
    const key = this.take(keyLength)
    const value = this.take(valueLength)
    this.lastKey = [key, key + keyLength]
    if (want === KEYS) return codecs.keys.read(this.bytes, key, keyLength, 'key')
    if (want === VALUES) return codecs.values.read(this.bytes, value, valueLength, 'value')
    return [
      codecs.keys.read(this.bytes, key, keyLength, 'key'),
      codecs.values.read(this.bytes, value, valueLength, 'value'),
    ]
  }
}
