// Cursors: positions in a sorted table.

import { checkInternal, INTERNAL } from './internal.js'
import { Block, PAIRS } from './many.js'
import { readCount } from './options.js'
import { BLOCK_BYTES } from './walk.js'

/** A block has so many pairs at most. */
const MOST_PAIRS = 4096

export class Cursor {
  #core
  #handle
  #table
  #codecs

  constructor(internal, core, table, codecs, handle) {
    checkInternal(internal, 'Cursor', 'table.cursor()')
    this.#core = core
    this.#table = table
    this.#codecs = codecs
    this.#handle = handle
    core.forgotten.register(this, handle)
  }

  get table() {
    return this.#table
  }

  scanAscNext() {
    const core = this.#core
    return core.status(core.exports.twindex_scan_asc_next(this.#handle)) === 1 ? this.#pair() : undefined
  }

  scanDescNext() {
    const core = this.#core
    return core.status(core.exports.twindex_scan_desc_next(this.#handle)) === 1 ? this.#pair() : undefined
  }

  scanAscNextMany(limit) {
    return this.#many(this.#core.exports.twindex_scan_asc_next_many, limit)
  }

  scanDescNextMany(limit) {
    return this.#many(this.#core.exports.twindex_scan_desc_next_many, limit)
  }

  /** The pair that the last answer is, read in place. */
  #pair() {
    const { bytes, view, answerAt: at } = this.#core
    const { keys, values } = this.#codecs
    const key = at + 8
    const keyLength = view.getUint32(at, true)
    const valueLength = view.getUint32(at + 4, true)
    const value = key + keyLength
    if (keys.isTheirs) {
      // Their code may call the module, which answers in the same place.
      const kept = values.keep(bytes, value, valueLength, 'value')
      return [keys.read(bytes, key, keyLength, 'key'), values.show(kept)]
    }
    return [keys.read(bytes, key, keyLength, 'key'), values.read(bytes, value, valueLength, 'value')]
  }

  #many(nextMany, limit) {
    readCount(limit, 'a limit')
    const pairs = []
    for (let isMore = true; isMore; ) {
      const count = Math.min(limit - pairs.length, MOST_PAIRS)
      this.#core.status(nextMany(this.#handle, count, BLOCK_BYTES))
      const block = new Block(this.#core)
      isMore = !block.isEmpty
      while (!block.isEmpty) pairs.push(block.pair(this.#codecs, PAIRS))
    }
    return pairs
  }
}

export const openCursor = (...rest) => new Cursor(INTERNAL, ...rest)
