// Cursors: positions in a sorted table.

import { BLOCK_BYTES, Block } from './blocks.js'
import { checkInternal, INTERNAL } from './shared/internal.js'
import { readCount } from './shared/options.js'
import { closedError } from './shared/snapshot.js'
import { PAIRS } from './shared/table.js'

/** A block has so many pairs at most. */
const MOST_PAIRS = 4096

export class Cursor {
  #core
  #handle
  #table
  #owner
  #codecs

  constructor(internal, core, table, owner, codecs, handle) {
    checkInternal(internal, 'Cursor', 'table.cursor()')
    this.#core = core
    this.#table = table
    this.#owner = owner
    this.#codecs = codecs
    this.#handle = handle
    core.forgotten.register(this, handle)
  }

  #status(status) {
    if (status < 0 && this.#owner.closed) throw closedError(this.#owner)
    return this.#core.status(status)
  }

  get table() {
    return this.#table
  }

  /** Moves right before the first pair whose key is not less than this one. */
  seek(key) {
    const core = this.#core
    const { keys } = this.#codecs
    const length = keys.write(core, 0, keys.toItem(key, 'key'), 'key')
    this.#status(core.exports.twindex_seek(this.#handle, core.input, length))
  }

  /** The key of the pair that it is on. */
  get key() {
    return this.#pair()?.[0]
  }

  /** The value that this key has now. */
  get value() {
    return this.#pair()?.[1]
  }

  #pair() {
    if (this.#status(this.#core.exports.twindex_cursor_pair(this.#handle)) === 0) return undefined
    const [, key, value] = new Block(this.#core).row(this.#codecs)
    return [key(), value()]
  }

  scanAscNext() {
    return this.#next(this.#core.exports.twindex_scan_asc_next)
  }

  scanDescNext() {
    return this.#next(this.#core.exports.twindex_scan_desc_next)
  }

  scanAscNextMany(limit) {
    return this.#many(this.#core.exports.twindex_scan_asc_next_many, limit)
  }

  scanDescNextMany(limit) {
    return this.#many(this.#core.exports.twindex_scan_desc_next_many, limit)
  }

  /**
   * The pair that the answer is, read in place. Cut off the pairs that the module has packed ahead, strings come in half the time and are
   * compared in more than that later.
   */
  #next(step) {
    if (this.#status(step(this.#handle)) !== 1) return undefined
    const { bytes, view, answerAt: at } = this.#core
    const { keys, values } = this.#codecs
    const keyLength = view.getUint32(at, true)
    const valueLength = view.getUint32(at + 4, true)
    // A key's encoding may be code of the user's that calls the module, which answers in the same place.
    const value = values.keep(bytes, at + 8 + keyLength, valueLength, 'value')
    return [keys.read(bytes, at + 8, keyLength, 'key'), values.show(value)]
  }

  #many(nextMany, limit) {
    readCount(limit, 'a limit')
    const pairs = []
    for (let isMore = true; isMore; ) {
      const count = Math.min(limit - pairs.length, MOST_PAIRS)
      this.#status(nextMany(this.#handle, count, BLOCK_BYTES))
      const block = new Block(this.#core)
      isMore = !block.isEmpty
      while (!block.isEmpty) pairs.push(block.pair(this.#codecs, PAIRS))
    }
    return pairs
  }
}

export const openCursor = (...rest) => new Cursor(INTERNAL, ...rest)
