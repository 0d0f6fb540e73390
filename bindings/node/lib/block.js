// Many keys and values in one call of the native half.

import { utf8 } from './codecs.js'
import { lengths } from './crossing.js'
import { native } from './native.js'
import { notOf } from './shared/errors.js'
import { readIterable, readTuple } from './shared/options.js'
import { lengthOf } from './shared/views.js'

const { stage: nativeStage, take: nativeTake } = native

/** The most items of a call, as in src/encoding.rs. */
export const BLOCK_ITEMS = 256

/** The least room for the bytes of a call's arguments. */
const FIRST_BYTES = 4096
const NO_BYTES = new Uint8Array(0)

/** The native half calls this with what it has; the engine makes an array of arguments fastest. */
export const collect = (more, isMixed, bytes, ...items) => ({ more, isMixed, bytes, items })

/** Before the lengths, the number of items and whether there may be more. */
const FIRST_LENGTH = 2
const ABSENT = 0xffff_ffff

/** The items of a string that carries many: cutting one off takes less time than making one takes the native half. */
function cut(text) {
  const items = new Array(lengths[0])
  let end = 0
  for (let at = 0; at < items.length; at++) {
    const length = lengths[FIRST_LENGTH + at]
    if (length === ABSENT) continue
    const start = end
    end += length
    items[at] = text.slice(start, end)
  }
  return items
}

/** The same two by two. */
function cutPairs(text) {
  const pairs = new Array(lengths[0] / 2)
  let end = 0
  for (let at = 0; at < pairs.length; at++) {
    const start = end
    const middle = start + lengths[FIRST_LENGTH + 2 * at]
    end = middle + lengths[FIRST_LENGTH + 2 * at + 1]
    pairs[at] = [text.slice(start, middle), text.slice(middle, end)]
  }
  return pairs
}

function pairUp(items) {
  return Array.from({ length: items.length / 2 }, (_, at) => [items[2 * at], items[2 * at + 1]])
}

// A block of the native half is a string that carries many items, or what `collect` made. These look at it before the
// native half is called again.

/** What there is behind a block: 0 for nothing, 1 for another one, or from 2 on the number of a walk to others. */
export const moreOf = (block) => (typeof block === 'string' ? lengths[1] : block.more)

/** Whether a text in it is not UTF-8, for which its bytes stand. */
export const isMixed = (block) => typeof block !== 'string' && block.isMixed

/** All items, as they crossed. */
export const itemsOf = (block) => (typeof block === 'string' ? cut(block) : block.items)

/** All items of a block of pairs, as they crossed. */
export const pairsOf = (block) => (typeof block === 'string' ? cutPairs(block) : pairUp(block.items))

/** The items of a block, one by one, as the user sees them. */
export class Reader {
  #items
  #bytes
  #at = 0
  #offset = 0

  constructor(block) {
    this.#items = itemsOf(block)
    this.#bytes = block.bytes
  }

  get isEmpty() {
    return this.#at === this.#items.length
  }

  /** The next item, which is there. */
  next(codec, what = 'value') {
    return this.#show(this.#read(codec), codec, what)
  }

  /** The next item as it is, and what shows it, later. */
  defer(codec, what = 'pair') {
    const item = this.#read(codec)
    return [item, () => this.#show(item, codec, what)]
  }

  /** The next two. Where one cannot be shown, both are passed. */
  nextPair({ keys, values }) {
    const [key, value] = [this.#read(keys), this.#read(values)]
    return [this.#show(key, keys, 'key'), this.#show(value, values, 'value')]
  }

  #read(codec) {
    const item = this.#items[this.#at++]
    if (!codec.isBytes || item === undefined) return item
    if (item === 0) return NO_BYTES
    const start = this.#offset
    this.#offset += item
    return this.#bytes.subarray(start, this.#offset)
  }

  #show(item, codec, what) {
    if (item === undefined) return undefined
    if (!codec.isBytes && typeof item === 'object') throw notOf('UTF-8', what, item)
    return codec.show(item)
  }
}

/** All results that the native half holds ready, in rows of one item for each codec, each with what shows it. */
export function takeItems(codecs) {
  const rows = []
  let row = []
  for (let isMore = true; isMore; ) {
    const block = nativeTake(collect)
    isMore = moreOf(block) === 1
    const reader = new Reader(block)
    while (!reader.isEmpty) {
      row.push(reader.defer(codecs[row.length]))
      if (row.length < codecs.length) continue
      rows.push(row)
      row = []
    }
  }
  return rows
}

/** The same, each row as a function that shows it. */
export const takeRows = (codecs) => takeItems(codecs).map((row) => () => row.map(([, show]) => show()))

/** The same of pairs, as `[item, key, value]`: the key's item, and what shows each half. */
export const takePairs = ({ keys, values }) =>
  takeItems([keys, values]).map(([[item, key], [, value]]) => [item, key, value])

/** All results that the native half holds ready, each as the codec shows it. */
export function takeAll(codec) {
  const all = []
  const readers = []
  for (let isMore = true; isMore; ) {
    const block = nativeTake(collect)
    isMore = moreOf(block) === 1
    if (codec === utf8 && !isMixed(block)) {
      for (const item of itemsOf(block)) all.push(item)
    } else readers.push(new Reader(block))
  }
  // Only now, as a codec of the user's may use the native half, which holds the results of one call at a time.
  for (const reader of readers) {
    while (!reader.isEmpty) all.push(reader.next(codec))
  }
  return all
}

/** One call's worth of arguments on their way in: the items, and the bytes of those that are bytes. */
class Part {
  items = []
  #bytes = NO_BYTES
  #used = 0

  get isFull() {
    return this.items.length >= BLOCK_ITEMS
  }

  get bytes() {
    return this.#bytes.subarray(0, this.#used)
  }

  /** Copies the bytes, since a generator may use its buffer again; returns the item that stands for them. */
  copy(bytes) {
    const length = lengthOf(bytes)
    const used = this.#used + length
    if (used > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * used, FIRST_BYTES))
      larger.set(this.bytes)
      this.#bytes = larger
    }
    this.#bytes.set(bytes, this.#used)
    this.#used = used
    return length
  }
}

/** Many arguments on their way in. */
export class Items {
  #parts = []
  #last = undefined

  /** Adds a key or value, once its codec has accepted it. */
  add(codec, value, what) {
    const item = codec.toItem(value, what)
    const { items } = this.#part()
    items.push(codec.isBytes ? this.#last.copy(item) : item)
  }

  /** Adds what crosses as it is. */
  push(item) {
    this.#part().items.push(item)
  }

  /** Hands all to the native half, which checks the rest. */
  stage() {
    for (const { bytes, items } of this.#parts) nativeStage(bytes, ...items)
  }

  #part() {
    if (this.#last === undefined || this.#last.isFull) {
      this.#last = new Part()
      this.#parts.push(this.#last)
    }
    return this.#last
  }
}

/** What the native half calls the shapes of an item. */
const KEYS = 0
const PAIRS = 1
const AMOUNTS = 2
const SWAPS = 3

/** Has the native half take items for a table or cache, in one of its shapes. `verbs` are its functions of that kind. */
function stage(verbs, handle, shape, items) {
  verbs.begin(handle, shape)
  items.stage()
}

export function stageKeys(verbs, handle, { keys: codec }, keys) {
  const items = new Items()
  for (const key of readIterable(keys, 'the keys')) items.add(codec, key, 'key')
  stage(verbs, handle, KEYS, items)
}

export function stagePairs(verbs, handle, { keys, values }, pairs) {
  const items = new Items()
  for (const pair of readIterable(pairs, 'the pairs')) {
    const [key, value] = readTuple(pair, 2, 'the pairs')
    items.add(keys, key, 'key')
    items.add(values, value, 'value')
  }
  stage(verbs, handle, PAIRS, items)
}

export function stageAmounts(verbs, handle, { keys }, amounts) {
  const items = new Items()
  for (const entry of readIterable(amounts, 'the amounts')) {
    const [key, by] = readTuple(entry, 2, 'the amounts')
    items.add(keys, key, 'key')
    items.push(by)
  }
  stage(verbs, handle, AMOUNTS, items)
}

export function stageSwaps(verbs, handle, { keys, values }, swaps) {
  const items = new Items()
  for (const swap of readIterable(swaps, 'the swaps')) {
    const [key, ...wanted] = readTuple(swap, 3, 'the swaps')
    items.add(keys, key, 'key')
    for (const value of wanted) {
      if (values.isNone(value)) items.push(undefined)
      else items.add(values, value, 'value')
    }
  }
  stage(verbs, handle, SWAPS, items)
}

/** The native half's booleans as an array. */
export function booleans(bytes) {
  const result = new Array(bytes.length)
  for (let at = 0; at < bytes.length; at++) result[at] = bytes[at] === 1
  return result
}

/** A sum comes as it is. */
const sumCodec = { isBytes: false, show: (sum) => sum }

export function takeSums() {
  return takeAll(sumCodec)
}
