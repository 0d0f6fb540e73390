// The verbs on many pairs. All arguments are read, converted and checked before the first write.

import { Items, takeAll } from './block.js'
import { native } from './native.js'
import { readIterable, readTuple } from './shared/options.js'

const { begin: nativeBegin, beginCached: nativeBeginCached } = native

/** What the native half calls the shapes of an item. */
const KEYS = 0
const PAIRS = 1
const AMOUNTS = 2
const SWAPS = 3

/** Has the native half take items for a table, in one of its shapes. */
function stage(handle, shape, items) {
  nativeBegin(handle, shape)
  items.stage()
}

/** The same for a cache. */
function stageCached(handle, shape, items) {
  nativeBeginCached(handle, shape)
  items.stage()
}

function readKeys({ keys: codec }, keys) {
  const items = new Items()
  for (const key of readIterable(keys, 'the keys')) items.add(codec, key, 'key')
  return items
}

function readPairs({ keys, values }, pairs) {
  const items = new Items()
  for (const pair of readIterable(pairs, 'the pairs')) {
    const [key, value] = readTuple(pair, 2, 'the pairs')
    items.add(keys, key, 'key')
    items.add(values, value, 'value')
  }
  return items
}

export function stageKeys(handle, codecs, keys) {
  stage(handle, KEYS, readKeys(codecs, keys))
}

export function stagePairs(handle, codecs, pairs) {
  stage(handle, PAIRS, readPairs(codecs, pairs))
}

export function stageCachedKeys(handle, codecs, keys) {
  stageCached(handle, KEYS, readKeys(codecs, keys))
}

export function stageCachedPairs(handle, codecs, pairs) {
  stageCached(handle, PAIRS, readPairs(codecs, pairs))
}

export function stageAmounts(handle, { keys }, amounts) {
  const items = new Items()
  for (const entry of readIterable(amounts, 'the amounts')) {
    const [key, by] = readTuple(entry, 2, 'the amounts')
    items.add(keys, key, 'key')
    items.push(by)
  }
  stage(handle, AMOUNTS, items)
}

export function stageSwaps(handle, { keys, values }, swaps) {
  const items = new Items()
  for (const swap of readIterable(swaps, 'the swaps')) {
    const [key, ...wanted] = readTuple(swap, 3, 'the swaps')
    items.add(keys, key, 'key')
    for (const value of wanted) {
      if (values.isNone(value)) items.push(undefined)
      else items.add(values, value, 'value')
    }
  }
  stage(handle, SWAPS, items)
}

/** The native half's booleans as an array. */
export function booleans(bytes) {
  const result = new Array(bytes.length)
  for (let at = 0; at < bytes.length; at++) result[at] = bytes[at] === 1
  return result
}

/** A sum comes as it is. */
const sumCodec = { isBytes: false, show: (sum) => sum }

export function takeSums() {
  return takeAll(sumCodec)
}
