'use strict'
// Many keys and values in one call of the native half.

const native = require('./native.cjs')

/** The most items of a call, as in src/output.rs. */
const BLOCK_ITEMS = 256

/** The least room for the bytes of a call's arguments. */
const FIRST_BYTES = 4096
const NO_BYTES = new Uint8Array(0)

/** The native half calls this with what it has; the engine makes an array of arguments fastest. */
const collect = (...results) => results

/** What the native half passed to `collect`, item by item. */
class Block {
  #results
  #at = 2
  #offset = 0

  constructor(results) {
    this.#results = results
  }

  /** Whether there may be another block. */
  get isMore() {
    return this.#results[0]
  }

  get isEmpty() {
    return this.#at === this.#results.length
  }

  /** The next item, which is there, as the user sees it. */
  next(codec) {
    const item = this.#results[this.#at++]
    if (!codec.isBytes || item === undefined) return codec.unpack(item)
    if (item === 0) return codec.unpack(NO_BYTES)
    const start = this.#offset
    this.#offset += item
    return codec.unpack(this.#results[1].subarray(start, this.#offset))
  }
}

const NO_BLOCK = new Block([false, undefined])

/** All results that the native half holds ready, each as the codec shows it. */
function takeAll(codec) {
  const all = []
  for (let isMore = true; isMore; ) {
    const block = new Block(native.take(collect))
    while (!block.isEmpty) all.push(block.next(codec))
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
    for (const { bytes, items } of this.#parts) native.stage(bytes, ...items)
  }

  #part() {
    if (this.#last === undefined || this.#last.isFull) {
      this.#last = new Part()
      this.#parts.push(this.#last)
    }
    return this.#last
  }
}

module.exports = { Block, NO_BLOCK, collect, takeAll, Batch }
