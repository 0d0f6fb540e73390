'use strict'
// The iterators behind entries, keys, values and scan.

const {
  freeWalk: nativeFreeWalk,
  openWalk: nativeOpenWalk,
  scanBlock: nativeScanBlock,
  walk: nativeWalk,
} = require('./native.cjs')
const { Block, NO_BLOCK, BLOCK_ITEMS, collect } = require('./block.cjs')
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

/** An iterator over pairs or their halves. It reads them in blocks, and holds no lock between two. */
class Walk {
  #handle
  // biome-ignore lint/correctness/noUnusedPrivateClassMembers: it keeps the table, and so its store, from being collected
  #table
  #codecs
  #halves
  #areStrings
  #block = NO_BLOCK

  constructor(table, tableHandle, codecs, halves, way, limit, range) {
    if (halves === PAIRS && way !== ANY && limit <= BLOCK_PAIRS) {
      this.#block = new Block(nativeScanBlock(tableHandle, way, limit, collect, ...range))
    } else {
      this.#handle = nativeOpenWalk(tableHandle, halves, way, limit, ...range)
      forgotten.register(this, this.#handle, this)
    }
    this.#table = table
    this.#codecs = codecs
    this.#halves = halves
    this.#areStrings = codecs.keys === utf8 && codecs.values === utf8
  }

  next() {
    if (this.#block.isEmpty && !this.#fetch()) return { value: undefined, done: true }
    const block = this.#block
    if (this.#areStrings) {
      return { value: this.#halves === PAIRS ? [block.take(), block.take()] : block.take(), done: false }
    }
    const { keys, values } = this.#codecs
    if (this.#halves === PAIRS) return { value: [block.next(keys), block.next(values)], done: false }
    return { value: block.next(this.#halves === KEYS ? keys : values), done: false }
  }

  return(value) {
    this.#end()
    this.#block = NO_BLOCK
    return { value, done: true }
  }

  /** Reads blocks until one has pairs; whether there was one. */
  #fetch() {
    while (this.#handle !== undefined) {
      this.#block = new Block(nativeWalk(this.#handle, collect))
      if (!this.#block.isMore) this.#end()
      if (!this.#block.isEmpty) return true
    }
    return false
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
