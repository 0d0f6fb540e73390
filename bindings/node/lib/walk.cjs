'use strict'
// The iterators behind entries, keys, values and scan.

const native = require('./native.cjs')
const { Block, NO_BLOCK, collect } = require('./block.cjs')

/** What a walk returns of each pair, and which way it goes, as in src/walk.rs. */
const KEYS = 1
const VALUES = 2
const PAIRS = 3
const ANY = 0
const UP = 1
const DOWN = 2

const forgotten = new FinalizationRegistry(native.freeWalk)

/** An iterator over pairs or their halves. It reads them in blocks, and holds no lock between two. */
class Walk {
  #handle
  // biome-ignore lint/correctness/noUnusedPrivateClassMembers: it keeps the table, and so its store, from being collected
  #table
  #codecs
  #halves
  #block = NO_BLOCK

  constructor(table, tableHandle, codecs, halves, way, limit, range) {
    this.#handle = native.openWalk(tableHandle, halves, way, limit, ...range)
    this.#table = table
    this.#codecs = codecs
    this.#halves = halves
    forgotten.register(this, this.#handle, this)
  }

  next() {
    if (this.#block.isEmpty && !this.#fetch()) return { value: undefined, done: true }
    const block = this.#block
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
      this.#block = new Block(native.walk(this.#handle, collect))
      if (!this.#block.isMore) this.#end()
      if (!this.#block.isEmpty) return true
    }
    return false
  }

  #end() {
    if (this.#handle === undefined) return
    forgotten.unregister(this)
    native.freeWalk(this.#handle)
    this.#handle = undefined
    this.#table = undefined
  }
}

// As the iterators of the language are, so that whatever they can do, these can.
Object.setPrototypeOf(Walk.prototype, Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())))
Object.defineProperty(Walk.prototype, Symbol.toStringTag, { value: 'Table Iterator', configurable: true })

module.exports = { Walk, KEYS, VALUES, PAIRS, ANY, UP, DOWN }
