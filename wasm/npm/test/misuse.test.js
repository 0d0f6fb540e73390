// Calls out of turn: a clear error with a code, and a store that stays as it was. Wrong arguments are Node's tests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load } from 'twindex-wasm'

const { Store } = await load()

/** A store with a pair in a table of each index. */
function sample() {
  const store = new Store()
  const table = store.table('t').set('a', '1')
  store.table('s', { index: 'sorted' }).set('a', '1')
  return { store, table }
}

test("code of the user's may use the table in the middle of a call", () => {
  const { store, table } = sample()
  const json = store.table('j', { values: 'json' })
  const meddling = {
    get said() {
      json.set('meddled with a longer key than the other', { n: 'x'.repeat(1000) })
      return 'kept'
    },
  }
  assert.ok(json.insert('key', meddling))
  const kept = { said: 'kept' }
  assert.deepEqual(json.get('key'), kept)
  json.insertMany([
    ['one', meddling],
    ['two', meddling],
  ])
  assert.deepEqual(json.selectMany(['one', 'two']), [kept, kept])
  const pairs = (function* () {
    for (const key of ['x', 'y']) {
      yield [key, key]
      table.set('between', 'z'.repeat(100_000))
    }
  })()
  assert.deepEqual(table.insertMany(pairs), [true, true])
  assert.deepEqual(table.selectMany(['x', 'y']), ['x', 'y'])
  const options = {
    get gte() {
      table.set('meddled', 'm')
      return 'a'
    },
  }
  assert.equal([...store.table('s', { index: 'sorted' }).scan(options)].length, 1)
})

test('a store says that it cannot be shared', () => {
  assert.throws(() => new Store({ shared: 'name' }), {
    code: 'TWINDEX_RANGE',
    message: /'shared'.*memoryLimit/,
  })
})

test('a table opened again is the same object, which takes no other handle of the module, until it is dropped', () => {
  const { store, table } = sample()
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
