'use strict'
// Many keys and values in one call of the native half.

const native = require('./native.cjs')

/** The most items of a call, as in src/output.rs. */
const BLOCK_ITEMS = 256

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
    if (item === 0) return codec.unpack(EMPTY)
    const start = this.#offset
    this.#offset += item
    return codec.unpack(this.#results[1].subarray(start, this.#offset))
  }
}

const EMPTY = new Uint8Array(0)
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

/** The lengths of the items that are bytes, and those bytes one after the other. */
function joinBytes(items, codecs, first) {
  const isBytes = (position) =>
    codecs[(first + position) % codecs.length].isBytes && items[position] !== undefined
  const bytes = Buffer.allocUnsafe(
    items.reduce((sum, item, at) => (isBytes(at) ? sum + item.length : sum), 0),
  )
  let offset = 0
  const lengths = items.map((item, at) => {
    if (!isBytes(at)) return item
    bytes.set(item, offset)
    offset += item.length
    return item.length
  })
  return [bytes, ...lengths]
}

/** Hands the items to the native half, which checks them; item by item they have the codecs in turn. */
function stageAll(items, codecs) {
  const isText = codecs.every((codec) => !codec.isBytes)
  for (let first = 0; first < items.length; first += BLOCK_ITEMS) {
    const block = items.slice(first, first + BLOCK_ITEMS)
    if (isText) native.stage(undefined, ...block)
    else native.stage(...joinBytes(block, codecs, first))
  }
}

module.exports = { Block, NO_BLOCK, collect, takeAll, stageAll }
