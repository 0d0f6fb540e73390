// Cursors: positions in a sorted table.

import { collect, moreOf, Reader } from './block.js'
import { preventClone } from './clone.js'
import { KEY, lengths, VALUE } from './crossing.js'
import { native } from './native.js'
import { checkInternal, INTERNAL } from './shared/internal.js'
import { readCount } from './shared/options.js'

const {
  seek: nativeSeek,
  cursorKey: nativeCursorKey,
  cursorValue: nativeCursorValue,
  ascNext: nativeAscNext,
  ascNextMany: nativeAscNextMany,
  descNext: nativeDescNext,
  descNextMany: nativeDescNextMany,
  freeCursor: nativeFreeCursor,
  pairValue: nativePairValue,
} = native

/** Where the native half has passed the key alone, as in src/exports/scan.rs. */
const NO_PAIR = 0xffff_ffff

const forgotten = new FinalizationRegistry(nativeFreeCursor)

export class Cursor {
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

  /** Moves before the first pair from a key on. */
  seek(key) {
    const { keys } = this.#codecs
    nativeSeek(this.#handle, keys.cross(keys.toItem(key, 'key'), KEY))
  }

  get key() {
    return this.#codecs.keys.read(nativeCursorKey(this.#handle), KEY)
  }

  get value() {
    return this.#codecs.values.read(nativeCursorValue(this.#handle), VALUE)
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
    if (keyLength !== NO_PAIR) return [keys.show(key.slice(0, keyLength)), values.show(key.slice(keyLength))]
    const value = nativePairValue(this.#handle)
    if (!keys.isTheirs) return [keys.read(key, KEY), values.read(value, VALUE)]
    const kept = values.keep(value, VALUE)
    return [keys.read(key, KEY), values.show(kept)]
  }

  #many(nextMany, limit) {
    const pairs = []
    for (let left = readCount(limit, 'a limit'), isMore = true; isMore; left = limit - pairs.length) {
      const block = nextMany(this.#handle, Math.min(left, MOST), collect)
      isMore = moreOf(block) === 1
      const reader = new Reader(block)
      while (!reader.isEmpty) pairs.push(reader.nextPair(this.#codecs))
      isMore &&= pairs.length < limit
    }
    return pairs
  }
}

/** What the native half takes for a limit; it returns fewer at once anyway. */
const MOST = 2 ** 31

export const openCursor = (...rest) => new Cursor(INTERNAL, ...rest)
