// What stores of this package refuse, or give again. Wrong arguments and calls out of turn are Node's tests, which run here too.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load } from 'twindex-wasm'

const { Store } = await load()

test('a store says that it cannot be shared', () => {
  assert.throws(() => new Store({ shared: 'name' }), {
    code: 'TWINDEX_RANGE',
    message: /'shared'.*memoryLimit/,
  })
})

test('a table opened again is the same object, which takes no other handle of the module, until it is dropped', () => {
  const store = new Store()
  const table = store.table('t').set('a', '1')
  assert.equal(store.table('t'), table)
  assert.equal(store.table('t', { create: false }), table)
  assert.notEqual(store.table('t', { values: 'bytes' }), table)
  assert.throws(() => store.table('t', { index: 'sorted' }), { code: 'TWINDEX_WRONG_INDEX' })
  const dropped = store.table('t')
  store.dropTable('t')
  assert.throws(() => dropped.set('a', '1'), { code: 'TWINDEX_TABLE_DROPPED' })
  assert.equal(store.table('t').set('a', '2').size, 1)
  store.close()
  assert.throws(() => store.table('t'), { code: 'TWINDEX_CLOSED' })
})
