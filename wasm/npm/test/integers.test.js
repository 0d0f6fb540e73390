// Integers as keys and values, and codecs of one's own.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load } from 'twindex-wasm'

const { Store } = await load()

const hex = (bytes) => Buffer.from(bytes).toString('hex')

test('integers as keys are eight bytes that order as they do', () => {
  const store = new Store()
  const numbers = [3, -1, 0, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 256]
  const table = store.table('t', { index: 'sorted', keys: 'int', values: 'int' })
  for (const number of numbers) table.set(number, number)
  const inOrder = numbers.toSorted?.((a, b) => a - b) ?? [...numbers].sort((a, b) => a - b)
  assert.deepEqual([...table.keys()], inOrder)
  assert.deepEqual([...table.scan({ gte: 0, lt: 256 })].flat(), [0, 0, 3, 3])
  assert.equal(table.increment(3, 4), 7)
  const seen = store.table('t', { index: 'sorted', keys: 'view' })
  assert.deepEqual([...seen.keys()].slice(1, 4).map(hex), [
    '7fffffffffffffff',
    '8000000000000000',
    '8000000000000003',
  ])
  const big = store.table('t', { index: 'sorted', keys: 'bigint', values: 'bigint' })
  assert.equal(big.get(-1n), -1n)
  big.set(-(2n ** 63n), 2n ** 63n - 1n)
  assert.throws(() => [...table.keys()], { code: 'TWINDEX_ENCODING', message: /bigint/ })
  assert.equal([...big][0][1], 2n ** 63n - 1n)
})

test('what is no integer is refused', () => {
  const store = new Store()
  const table = store.table('t', { index: 'sorted', keys: 'int', values: 'int' })
  for (const wrong of ['1', 1.5, null, 1n]) assert.throws(() => table.set(wrong, 1), { code: 'TWINDEX_TYPE' })
  assert.throws(() => table.set(2 ** 60, 1), { code: 'TWINDEX_RANGE' })
  assert.throws(() => table.scan({ prefix: 1 }), { code: 'TWINDEX_RANGE', message: /prefixes/ })
  const big = store.table('t', { index: 'sorted', keys: 'bigint' })
  assert.throws(() => big.set(2n ** 63n, 1), { code: 'TWINDEX_RANGE' })
  assert.throws(() => big.set(1, 1), { code: 'TWINDEX_TYPE' })
  store.table('t', { index: 'sorted', keys: 'bytes' }).set(Buffer.from('text'), 1)
  assert.throws(() => [...table], { code: 'TWINDEX_ENCODING' })
  table.set(1, 1)
  store.table('t', { index: 'sorted', values: 'bytes' }).set(1, Buffer.from('no number'))
  assert.throws(() => table.get(1), { code: 'TWINDEX_NOT_AN_INTEGER' })
})

test('a codec of one’s own', () => {
  const dates = {
    name: 'date',
    encode: (date) => date.toISOString(),
    decode: (text) => new Date(text),
    format: 'str',
  }
  const table = new Store().table('t', {
    keys: dates,
    values: { name: 'hex', encode: Buffer.from, decode: hex },
  })
  const day = new Date(0)
  table.set(day, [1, 2])
  assert.deepEqual([...table], [[day, '0102']])
  assert.throws(() => new Store().table('t', { keys: { name: 'half', encode() {} } }), {
    code: 'TWINDEX_TYPE',
  })
  assert.throws(() => new Store().table('t', { keys: { ...dates, format: 'x' } }), { code: 'TWINDEX_RANGE' })
})
