// Cursors, and pairs that come one after another.

import { wait } from './call.js'
import { decode } from './items.js'
import { readCount } from './shared/options.js'

/** So many pairs come over from the native half at a time. */
const PAIRS = 1000
/** The native half counts in 32 bits. */
const MOST = 2 ** 32 - 1

/** The pairs of keys and values that came in turn. */
function pairsOf({ keys, values }, flat) {
  const pairs = []
  for (let at = 0; at < flat.length; at += 2) {
    pairs.push([decode(keys, flat[at], 'key'), decode(values, flat[at + 1], 'value')])
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
    const flat = await wait(() => this.#native.next(down))
    return pairsOf(this.#codecs, flat)[0]
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
    const flat = await wait(() => source.nextMany(count))
    if (flat.length === 0) return
    yield* pairsOf(codecs, flat)
  }
}
