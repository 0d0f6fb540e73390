'use strict'
// The verbs on many pairs. All arguments are read, converted and checked before the first write.

const native = require('./native.cjs')
const { stageAll, takeAll } = require('./block.cjs')
const { typeError } = require('./errors.cjs')

/** What the native half calls the shapes of an item. */
const KEYS = 0
const PAIRS = 1
const AMOUNTS = 2
const SWAPS = 3

/** An amount crosses as it is. */
const amountCodec = { isBytes: false, unpack: (amount) => amount }

function readIterable(value, what) {
  // A string is an iterable too, and never meant as one here.
  if (value === null || typeof value !== 'object' || typeof value[Symbol.iterator] !== 'function') {
    throw typeError(`${what} are an array or another iterable`, value)
  }
  return value
}

function readTuple(value, length, what) {
  if (!Array.isArray(value) || value.length !== length)
    throw typeError(`each of ${what} is an array of ${length}`, value)
  return value
}

function stageKeys(handle, codecs, keys) {
  const items = []
  for (const key of readIterable(keys, 'the keys')) items.push(codecs.keys.pack(key, 'key'))
  native.begin(handle, KEYS)
  stageAll(items, [codecs.keys])
}

function stagePairs(handle, codecs, pairs) {
  const items = []
  for (const pair of readIterable(pairs, 'the pairs')) {
    const [key, value] = readTuple(pair, 2, 'the pairs')
    items.push(codecs.keys.pack(key, 'key'), codecs.values.pack(value, 'value'))
  }
  native.begin(handle, PAIRS)
  stageAll(items, [codecs.keys, codecs.values])
}

function stageAmounts(handle, codecs, amounts) {
  const items = []
  for (const entry of readIterable(amounts, 'the amounts')) {
    const [key, by] = readTuple(entry, 2, 'the amounts')
    items.push(codecs.keys.pack(key, 'key'), by)
  }
  native.begin(handle, AMOUNTS)
  stageAll(items, [codecs.keys, amountCodec])
}

function stageSwaps(handle, codecs, swaps) {
  const { keys, values } = codecs
  const pack = (value) => (values.isNone(value) ? undefined : values.pack(value, 'value'))
  const items = []
  for (const swap of readIterable(swaps, 'the swaps')) {
    const [key, expected, value] = readTuple(swap, 3, 'the swaps')
    items.push(keys.pack(key, 'key'), pack(expected), pack(value))
  }
  native.begin(handle, SWAPS)
  stageAll(items, [keys, values, values])
}

/** The native half's booleans as an array. */
function booleans(bytes) {
  const result = new Array(bytes.length)
  for (let at = 0; at < bytes.length; at++) result[at] = bytes[at] === 1
  return result
}

function takeSums() {
  return takeAll(amountCodec)
}

module.exports = { stageKeys, stagePairs, stageAmounts, stageSwaps, booleans, takeSums }
