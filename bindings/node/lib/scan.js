// Cursors, which go pair by pair, and the iterators behind entries, keys, values and scan, which go block by block.

import { BLOCK_ITEMS, collect, isMixed, itemsOf, moreOf, pairsOf, Reader } from './block.js'
import { preventClone, reasons } from './clone.js'
import { utf8 } from './codecs.js'
import { KEY, lengths, VALUE } from './crossing.js'
import { native } from './native.js'
import { asIterators, checkInternal, INTERNAL } from './shared/internal.js'
import { readCount } from './shared/options.js'
import { closedError } from './shared/snapshot.js'
import { KEYS, PAIRS } from './shared/table.js'

const { freeWalk: nativeFreeWalk, openCacheWalk: nativeOpenCacheWalk, walk: nativeWalk } = native

/** Which way a walk goes, as in src/exports/scan.rs. */
export const ANY = 0
export const UP = 1
export const DOWN = 2

/** So many pairs cross at once, and need no walk of the native half. */
const BLOCK_PAIRS = BLOCK_ITEMS / 2

/** From here on what is behind a block is the number of a walk. */
const FIRST_WALK = 2

const forgotten = new FinalizationRegistry(nativeFreeWalk)

const NOTHING = []
const uncloneable = reasons.Iterator

/** An iterator over pairs or their halves. It reads them in blocks, and holds no lock between two. */
export class Walk {
  #handle
  /** Its store, snapshot or cache, which it keeps from being collected until it ends. */
  #owner
  #codecs
  #halves
  #areStrings
  /** The pairs read ahead, and how many of them were returned. */
  #ready = NOTHING
  #at = 0
  /** The rest of a block whose items are still to be decoded, which may run code of the user's and fail. */
  #reader
  /** See `preventClone`. */
  uncloneable = uncloneable

  constructor(verbs, owner, tableHandle, codecs, halves, way, limit, range) {
    this.#codecs = codecs
    this.#halves = halves
    this.#areStrings = codecs.keys === utf8 && codecs.values === utf8
    this.#owner = owner
    const { from, low, to, high } = range ?? {}
    if (range === undefined) {
      this.#handle = nativeOpenCacheWalk(tableHandle, halves)
      forgotten.register(this, this.#handle, this)
    } else if (halves === PAIRS && way !== ANY && limit <= BLOCK_PAIRS) {
      const block = verbs.scanBlock(tableHandle, way, limit, collect, from, low, to, high)
      const more = moreOf(block)
      if (more >= FIRST_WALK) {
        this.#handle = more - FIRST_WALK
        forgotten.register(this, this.#handle, this)
      }
      this.#begin(block)
    } else {
      this.#handle = verbs.openWalk(tableHandle, halves, way, limit, from, low, to, high)
      forgotten.register(this, this.#handle, this)
    }
  }

  next() {
    const at = this.#at
    if (this.#owner?.closed) this.#fail()
    if (at < this.#ready.length) {
      this.#at = at + 1
      return { value: this.#ready[at], done: false }
    }
    return this.#decodeNext()
  }

  return(value) {
    this.#end()
    this.#owner = undefined
    this.#ready = NOTHING
    this.#reader = undefined
    return { value, done: true }
  }

  /** Takes a block of the native half. */
  #begin(block) {
    this.#at = 0
    this.#ready = NOTHING
    if (!this.#areStrings || isMixed(block)) this.#reader = new Reader(block)
    else if (this.#halves === PAIRS) this.#ready = pairsOf(block)
    else this.#ready = itemsOf(block)
  }

  #decodeNext() {
    while (this.#reader === undefined || this.#reader.isEmpty) {
      if (this.#handle === undefined) return this.return()
      const block = nativeWalk(this.#handle, collect)
      if (moreOf(block) === 0) this.#end()
      this.#begin(block)
      if (this.#ready.length > 0) return this.next()
    }
    const reader = this.#reader
    const { keys, values } = this.#codecs
    if (this.#halves === PAIRS) return { value: reader.nextPair(this.#codecs), done: false }
    const value = this.#halves === KEYS ? reader.next(keys, 'key') : reader.next(values)
    return { value, done: false }
  }

  /** What was read before the store was closed is not given either. */
  #fail() {
    const error = closedError(this.#owner)
    this.return()
    throw error
  }

  #end() {
    if (this.#handle === undefined) return
    forgotten.unregister(this)
    nativeFreeWalk(this.#handle)
    this.#handle = undefined
  }
}

// As the iterators of the language are, so that whatever they can do, these can.
asIterators(Walk)

/** The iterator over a cache. */
export const walkCache = (cache, handle, codecs, halves) =>
  new Walk(native.cache, cache, handle, codecs, halves, ANY)

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

const forgottenCursors = new FinalizationRegistry(nativeFreeCursor)

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
    forgottenCursors.register(this, handle)
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
