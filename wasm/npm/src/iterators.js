// The iterators behind entries, keys, values and scan. They read pairs in blocks.

import { BLOCK_BYTES, Block } from './blocks.js'
import { asIterators } from './shared/internal.js'
import { EXCLUDED } from './shared/options.js'
import { closedError } from './shared/snapshot.js'
import { putBytes } from './text.js'

/** A block has so many pairs at first; each has twice as many as the one before, up to the most. */
const FIRST_PAIRS = 16
const MOST_PAIRS = 1024

/** The bytes of a key, as the module gave them. */
export const rawKeys = { write: putBytes }

/** Writes the ends of a range: the six arguments by which the module takes them. */
export function putRange(core, codec, { lower, upper }) {
  const put = ([, item, itemCodec = codec], offset) =>
    item === undefined ? 0 : itemCodec.write(core, offset, item, 'key')
  const lowerLength = put(lower, 0)
  const upperLength = put(upper, lowerLength)
  return [lower[0], core.input, lowerLength, upper[0], core.input + lowerLength, upperLength]
}

/**
 * The blocks of a sorted table's range. Each is a scan by itself that goes on after the last key, so nothing is open. `scan` is the
 * table's, which it keeps from being collected: that would close the table's handle.
 */
export class RangeBlocks {
  #core
  #scan
  #codec
  #range
  #reverse

  constructor(core, scan, codec, range, reverse) {
    this.#core = core
    this.#scan = scan
    this.#codec = codec
    this.#range = range
    this.#reverse = reverse
    this.next(0) // says at once whether the table can be scanned
  }

  next(count, before) {
    const core = this.#core
    if (before !== undefined) {
      const end = [EXCLUDED, before.lastKey, rawKeys]
      this.#range = { ...this.#range, [this.#reverse ? 'upper' : 'lower']: end }
    }
    this.#scan(...putRange(core, this.#codec, this.#range), this.#reverse, count, BLOCK_BYTES)
    return before?.fill(core) ?? new Block(core)
  }

  end() {}
}

/** The blocks of a hash table, through an iterator of the module that has to be closed. */
export class TableBlocks {
  #core
  #iter

  constructor(core, table) {
    this.#core = core
    this.#iter = core.status(core.exports.twindex_iter(table))
    core.forgotten.register(this, this.#iter, this)
  }

  next(count, before) {
    const core = this.#core
    core.status(core.exports.twindex_iter_next_many(this.#iter, count, BLOCK_BYTES))
    return before?.fill(core) ?? new Block(core)
  }

  end() {
    this.#core.forgotten.unregister(this)
    this.#core.exports.twindex_close(this.#iter)
  }
}

/** An iterator over pairs or their halves. */
export class Walk {
  #owner
  #blocks
  #codecs
  #want
  #left
  #count = FIRST_PAIRS
  #block

  /** `owner` is a store, a snapshot or a cache, which is kept as long as the walk. */
  constructor(owner, blocks, codecs, want, limit = Number.POSITIVE_INFINITY) {
    this.#owner = owner
    this.#blocks = blocks
    this.#codecs = codecs
    this.#want = want
    this.#left = limit
  }

  next() {
    if (this.#owner === undefined) return { value: undefined, done: true }
    // What was read before the store was closed is not given either.
    if (this.#owner.closed) throw closedError(this.#owner)
    if (this.#block === undefined || this.#block.isEmpty) {
      const count = Math.min(this.#count, this.#left)
      this.#block = count === 0 ? undefined : this.#blocks.next(count, this.#block)
      if (count === 0 || this.#block.isEmpty) return this.return()
      this.#count = Math.min(this.#count * 2, MOST_PAIRS)
    }
    this.#left--
    return { value: this.#block.pair(this.#codecs, this.#want), done: false }
  }

  return(value) {
    if (this.#owner !== undefined) this.#blocks.end()
    this.#owner = undefined
    this.#block = undefined
    return { value, done: true }
  }
}

// As the iterators of the language are, so that whatever they can do, these can.
asIterators(Walk)
