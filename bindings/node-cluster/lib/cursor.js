// Cursors, and pairs that come one after another.

import { wait } from './call.js'
import { decode } from './items.js'
import { readCount } from './shared/options.js'

/** So many pairs come over from the native half at a time. */
const PAIRS = 1000
/** The native half counts in 32 bits. */
const MOST = 2 ** 32 - 1

/** The pairs whose keys and values came in turn: their bytes, and how many each has. */
function pairsOf({ keys, values }, [bytes, lengths]) {
  const pairs = new Array(lengths.length / 2)
  for (let at = 0, start = 0; at < pairs.length; at++) {
    const middle = start + lengths[2 * at]
    const end = middle + lengths[2 * at + 1]
    pairs[at] = [decode(keys, bytes, 'key', start, middle), decode(values, bytes, 'value', middle, end)]
    start = end
  }
  return pairs
}

/** A position in a sorted table. */
export class Cursor {
  #native
  #codecs

  constructor(native, codecs) {
    this.#native = native
    this.#codecs = codecs
  }

  async #next(down) {
    const block = await wait(() => this.#native.next(down))
    return pairsOf(this.#codecs, block)[0]
  }

  async #nextMany(down, limit) {
    const count = Math.min(readCount(limit, 'a limit'), MOST)
    return pairsOf(this.#codecs, await wait(() => this.#native.nextMany(down, count)))
  }

  scanAscNext() {
    return this.#next(false)
  }

  scanDescNext() {
    return this.#next(true)
  }

  scanAscNextMany(limit) {
    return this.#nextMany(false, limit)
  }

  scanDescNextMany(limit) {
    return this.#nextMany(true, limit)
  }
}

/** The pairs of a scan or of a whole table. */
export async function* pairs(source, codecs, limit = PAIRS) {
  const count = Math.max(1, Math.min(limit, PAIRS))
  for (;;) {
    const block = await wait(() => source.nextMany(count))
    if (block[1].length === 0) return
    // `yield*` takes twice as long.
    for (const pair of pairsOf(codecs, block)) yield pair
  }
}
