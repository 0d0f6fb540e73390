'use strict'
// Many keys and values in one call of the native half.

const { stage: nativeStage, take: nativeTake } = require('./native.cjs')
const { utf8 } = require('./codecs.cjs')
const { lengths } = require('./crossing.cjs')

/** The most items of a call, as in src/output.rs. */
const BLOCK_ITEMS = 256

/** The least room for the bytes of a call's arguments. */
const FIRST_BYTES = 4096
const NO_BYTES = new Uint8Array(0)

/** The native half calls this with what it has; the engine makes an array of arguments fastest. */
const collect = (...results) => results

/** Before the lengths, the number of items and whether there may be more. */
const FIRST_LENGTH = 2
const ABSENT = 0xffff_ffff

/** The items of a string that carries many: cutting one off takes less time than making one takes the native half. */
function cut(text) {
  const count = lengths[0]
  const items = new Array(FIRST_ITEM + count)
  items[0] = lengths[1] === 1
  let end = 0
  for (let at = 0; at < count; at++) {
    const length = lengths[FIRST_LENGTH + at]
    if (length === ABSENT) continue
    const start = end
    end += length
    items[FIRST_ITEM + at] = text.slice(start, end)
  }
  return items
}

/** What comes first of what `collect` gets: whether there may be another block, and the bytes of the items that are bytes. */
const FIRST_ITEM = 2

/** A block of the native half, item by item. */
class Block {
  #items
  #at = FIRST_ITEM
  #offset = 0

  /** Takes a string that carries many, or what `collect` returned. */
  constructor(block) {
    this.#items = typeof block === 'string' ? cut(block) : block
  }

  /** Whether there may be another block. */
  get isMore() {
    return this.#items[0]
  }

  get isEmpty() {
    return this.#at === this.#items.length
  }

  /** The next item, which is there, as it crossed. */
  take() {
    return this.#items[this.#at++]
  }

  /** The next item, which is there, as the user sees it. */
  next(codec) {
    const item = this.#items[this.#at++]
    if (!codec.isBytes || item === undefined) return codec.unpack(item)
    if (item === 0) return codec.unpack(NO_BYTES)
    const start = this.#offset
    this.#offset += item
    return codec.unpack(this.#items[1].subarray(start, this.#offset))
  }
}

const NO_BLOCK = new Block([false, undefined])

/** All results that the native half holds ready, each as the codec shows it. */
function takeAll(codec) {
  const all = []
  for (let isMore = true; isMore; ) {
    const block = new Block(nativeTake(collect))
    if (codec === utf8) while (!block.isEmpty) all.push(block.take())
    else while (!block.isEmpty) all.push(block.next(codec))
    isMore = block.isMore
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
    const used = this.#used + bytes.length
    if (used > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * used, FIRST_BYTES))
      larger.set(this.bytes)
      this.#bytes = larger
    }
    this.#bytes.set(bytes, this.#used)
    this.#used = used
    return bytes.length
  }
}

/** Many arguments on their way in. */
class Batch {
  #parts = []
  #last = undefined

  /** Adds a key or value, once its codec has accepted it. */
  add(codec, value, what) {
    const item = codec.pack(value, what)
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

module.exports = { BLOCK_ITEMS, Block, NO_BLOCK, collect, takeAll, Batch }
