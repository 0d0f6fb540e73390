'use strict'
// Cursors: positions in a sorted table.

const {
  ascNext: nativeAscNext,
  ascNextMany: nativeAscNextMany,
  descNext: nativeDescNext,
  descNextMany: nativeDescNextMany,
  freeCursor: nativeFreeCursor,
  pairValue: nativePairValue,
} = require('./native.cjs')
const { Reader, collect, hasMore } = require('./block.cjs')
const { KEY, VALUE, lengths } = require('./crossing.cjs')
const { readCount } = require('./options.cjs')
const { INTERNAL, checkInternal, preventClone } = require('./internal.cjs')

/** Where the native half has passed the key alone, as in src/walk.rs. */
const NO_PAIR = 0xffff_ffff

const forgotten = new FinalizationRegistry(nativeFreeCursor)

class Cursor {
  #handle
  #table
  #codecs

  constructor(internal, table, codecs, handle) {
    checkInternal(internal, 'Cursor', 'table.cursor()')
    preventClone(this, 'Cursor')
    this.#table = table
    this.#codecs = codecs
    this.#handle = handle
    forgotten.register(this, handle)
  }

  get table() {
    return this.#table
  }

  scanAscNext() {
    const key = nativeAscNext(this.#handle)
    return key === undefined ? undefined : this.#pair(key)
  }

  scanDescNext() {
    const key = nativeDescNext(this.#handle)
    return key === undefined ? undefined : this.#pair(key)
  }

  scanAscNextMany(limit) {
    return this.#many(nativeAscNextMany, limit)
  }

  scanDescNextMany(limit) {
    return this.#many(nativeDescNextMany, limit)
  }

  #pair(key) {
    const keyLength = lengths[0]
    const { keys, values } = this.#codecs
    if (keyLength !== NO_PAIR)
      return [keys.unpack(key.slice(0, keyLength)), values.unpack(key.slice(keyLength))]
    const value = nativePairValue(this.#handle)
    if (!keys.isTheirs) return [keys.decode(key, KEY), values.decode(value, VALUE)]
    const kept = values.keep(value, VALUE)
    return [keys.decode(key, KEY), values.unpack(kept)]
  }

  #many(nextMany, limit) {
    const { keys, values } = this.#codecs
    const pairs = []
    for (let left = readCount(limit, 'a limit'), isMore = true; isMore; left = limit - pairs.length) {
      const block = nextMany(this.#handle, Math.min(left, MOST), collect)
      isMore = hasMore(block)
      const reader = new Reader(block)
      while (!reader.isEmpty) pairs.push([reader.next(keys), reader.next(values)])
      isMore &&= pairs.length < limit
    }
    return pairs
  }
}

/** What the native half takes for a limit; it returns fewer at once anyway. */
const MOST = 2 ** 31

module.exports = { Cursor, openCursor: (...rest) => new Cursor(INTERNAL, ...rest) }
