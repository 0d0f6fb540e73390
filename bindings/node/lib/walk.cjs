'use strict'
// The iterators behind entries, keys, values and scan.

const {
  freeWalk: nativeFreeWalk,
  openWalk: nativeOpenWalk,
  scanBlock: nativeScanBlock,
  walk: nativeWalk,
} = require('./native.cjs')
const { BLOCK_ITEMS, Reader, collect, hasMore, itemsOf, pairsOf } = require('./block.cjs')
const { utf8 } = require('./codecs.cjs')

/** What a walk returns of each pair, and which way it goes, as in src/walk.rs. */
const KEYS = 1
const VALUES = 2
const PAIRS = 3
const ANY = 0
const UP = 1
const DOWN = 2

/** So many pairs cross at once, and need no walk of the native half. */
const BLOCK_PAIRS = BLOCK_ITEMS / 2

const forgotten = new FinalizationRegistry(nativeFreeWalk)

const NOTHING = []

/** An iterator over pairs or their halves. It reads them in blocks, and holds no lock between two. */
class Walk {
  #handle
  // biome-ignore lint/correctness/noUnusedPrivateClassMembers: it keeps the table, and so its store, from being collected
  #table
  #codecs
  #halves
  #areStrings
  /** What is ready to be given, and how much of it was. */
  #ready = NOTHING
  #at = 0
  /** The rest of a block whose items are still to be decoded, which may run code of the user's and fail. */
  #reader

  constructor(table, tableHandle, codecs, halves, way, limit, range) {
    this.#codecs = codecs
    this.#halves = halves
    this.#areStrings = codecs.keys === utf8 && codecs.values === utf8
    this.#table = table
    const { from, low, to, high } = range
    if (halves === PAIRS && way !== ANY && limit <= BLOCK_PAIRS) {
      this.#begin(nativeScanBlock(tableHandle, way, limit, collect, from, low, to, high))
    } else {
      this.#handle = nativeOpenWalk(tableHandle, halves, way, limit, from, low, to, high)
      forgotten.register(this, this.#handle, this)
    }
  }

  next() {
    const at = this.#at
    if (at < this.#ready.length) {
      this.#at = at + 1
      return { value: this.#ready[at], done: false }
    }
    return this.#decodeNext()
  }

  return(value) {
    this.#end()
    this.#ready = NOTHING
    this.#reader = undefined
    return { value, done: true }
  }

  /** Takes a block of the native half. */
  #begin(block) {
    this.#at = 0
    if (!this.#areStrings) this.#reader = new Reader(block)
    else if (this.#halves === PAIRS) this.#ready = pairsOf(block)
    else this.#ready = itemsOf(block)
  }

  #decodeNext() {
    while (this.#reader === undefined || this.#reader.isEmpty) {
      if (this.#handle === undefined) return { value: undefined, done: true }
      const block = nativeWalk(this.#handle, collect)
      if (!hasMore(block)) this.#end()
      this.#begin(block)
      if (this.#ready.length > 0) return this.next()
    }
    const reader = this.#reader
    const { keys, values } = this.#codecs
    if (this.#halves === PAIRS) return { value: [reader.next(keys), reader.next(values)], done: false }
    return { value: reader.next(this.#halves === KEYS ? keys : values), done: false }
  }

  #end() {
    if (this.#handle === undefined) return
    forgotten.unregister(this)
    nativeFreeWalk(this.#handle)
    this.#handle = undefined
    this.#table = undefined
  }
}

// As the iterators of the language are, so that whatever they can do, these can.
Object.setPrototypeOf(Walk.prototype, Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())))
Object.defineProperty(Walk.prototype, Symbol.toStringTag, { value: 'Table Iterator', configurable: true })

module.exports = { Walk, KEYS, VALUES, PAIRS, ANY, UP, DOWN }
