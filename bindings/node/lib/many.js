// The verbs on many pairs. All arguments are read, converted and checked before the first write.

import { Items, takeAll } from './block.js'
import { readIterable, readTuple } from './shared/options.js'

/** What the native half calls the shapes of an item. */
const KEYS = 0
const PAIRS = 1
const AMOUNTS = 2
const SWAPS = 3

/** Has the native half take items for a table or cache, in one of its shapes. `verbs` are its functions of that kind. */
function stage(verbs, handle, shape, items) {
  verbs.begin(handle, shape)
  items.stage()
}

export function stageKeys(verbs, handle, { keys: codec }, keys) {
  const items = new Items()
  for (const key of readIterable(keys, 'the keys')) items.add(codec, key, 'key')
  stage(verbs, handle, KEYS, items)
}

export function stagePairs(verbs, handle, { keys, values }, pairs) {
  const items = new Items()
  for (const pair of readIterable(pairs, 'the pairs')) {
    const [key, value] = readTuple(pair, 2, 'the pairs')
    items.add(keys, key, 'key')
    items.add(values, value, 'value')
  }
  stage(verbs, handle, PAIRS, items)
}

export function stageAmounts(verbs, handle, { keys }, amounts) {
  const items = new Items()
  for (const entry of readIterable(amounts, 'the amounts')) {
    const [key, by] = readTuple(entry, 2, 'the amounts')
    items.add(keys, key, 'key')
    items.push(by)
  }
  stage(verbs, handle, AMOUNTS, items)
}

export function stageSwaps(verbs, handle, { keys, values }, swaps) {
  const items = new Items()
  for (const swap of readIterable(swaps, 'the swaps')) {
    const [key, ...wanted] = readTuple(swap, 3, 'the swaps')
    items.add(keys, key, 'key')
    for (const value of wanted) {
      if (values.isNone(value)) items.push(undefined)
      else items.add(values, value, 'value')
    }
  }
  stage(verbs, handle, SWAPS, items)
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
