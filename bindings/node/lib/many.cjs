'use strict'
// The verbs on many pairs. All arguments are read, converted and checked before the first write.

const { begin: nativeBegin } = require('./native.cjs')
const { Batch, takeAll } = require('./block.cjs')
const { typeError } = require('./errors.cjs')

/** What the native half calls the shapes of an item. */
const KEYS = 0
const PAIRS = 1
const AMOUNTS = 2
const SWAPS = 3

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

/** Has the native half take a batch for a table, in one of its shapes. */
function stage(handle, shape, batch) {
  nativeBegin(handle, shape)
  batch.stage()
}

function stageKeys(handle, { keys: codec }, keys) {
  const batch = new Batch()
  for (const key of readIterable(keys, 'the keys')) batch.add(codec, key, 'key')
  stage(handle, KEYS, batch)
}

function stagePairs(handle, { keys, values }, pairs) {
  const batch = new Batch()
  for (const pair of readIterable(pairs, 'the pairs')) {
    const [key, value] = readTuple(pair, 2, 'the pairs')
    batch.add(keys, key, 'key')
    batch.add(values, value, 'value')
  }
  stage(handle, PAIRS, batch)
}

function stageAmounts(handle, { keys }, amounts) {
  const batch = new Batch()
  for (const entry of readIterable(amounts, 'the amounts')) {
    const [key, by] = readTuple(entry, 2, 'the amounts')
    batch.add(keys, key, 'key')
    batch.push(by)
  }
  stage(handle, AMOUNTS, batch)
}

function stageSwaps(handle, { keys, values }, swaps) {
  const batch = new Batch()
  for (const swap of readIterable(swaps, 'the swaps')) {
    const [key, ...wanted] = readTuple(swap, 3, 'the swaps')
    batch.add(keys, key, 'key')
    for (const value of wanted) {
      if (values.isNone(value)) batch.push(undefined)
      else batch.add(values, value, 'value')
    }
  }
  stage(handle, SWAPS, batch)
}

/** The native half's booleans as an array. */
function booleans(bytes) {
  const result = new Array(bytes.length)
  for (let at = 0; at < bytes.length; at++) result[at] = bytes[at] === 1
  return result
}

/** A sum comes as it is. */
const sumCodec = { isBytes: false, unpack: (sum) => sum }

function takeSums() {
  return takeAll(sumCodec)
}

module.exports = { stageKeys, stagePairs, stageAmounts, stageSwaps, booleans, takeSums }
