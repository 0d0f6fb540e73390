// Tables whose pairs expire, as far as the vectors do not say it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExpiringTable, Store, Table } from 'twindex'
import { code } from './helpers.js'

const HOUR = { ttl: 3_600_000 }

test('a table remembers whether its pairs expire', () => {
  const store = new Store()
  const table = store.table('t', { expires: true, values: 'json' }).set('a', [1], HOUR)
  assert.ok(table instanceof ExpiringTable && table instanceof Table)
  assert.ok(!(store.table('plain') instanceof ExpiringTable))
  assert.ok(store.table('t').ttl('a') > 3_000_000)
  assert.deepEqual(store.table('t').codecs, { keys: 'str', values: 'json' })
  assert.throws(() => store.table('t', { expires: false }), code('WRONG_EXPIRY'))
  assert.throws(() => store.table('plain', { expires: true }), code('WRONG_EXPIRY'))
  assert.throws(() => store.table('t', { values: 'int' }), code('WRONG_CODEC', { message: /"json".*"int"/ }))
  assert.throws(() => store.table('t', { expires: 1 }), code('TYPE'))
  assert.throws(() => table.set('a', [1], { time: 5 }), code('RANGE'))
  assert.throws(() => store.table('none', { expires: true, create: false }), code('NO_TABLE'))
  const own = { name: 'own', encode: String, decode: Number, format: 'str' }
  store.table('own', { expires: true, values: own }).set('a', 1)
  assert.throws(() => store.table('own'), code('WRONG_CODEC'))
  assert.equal(store.table('t').get('a')[0], 1)
})

test('a transaction and a snapshot know whether pairs expire, and a table whose pairs stay takes no time to live', () => {
  const store = new Store()
  store.table('t', { expires: true })
  store.table('plain').set('a', '1')
  store.transaction((tx) => {
    assert.throws(() => tx.table('t', { expires: false }), code('WRONG_EXPIRY'))
    const plain = tx.table('plain', { expires: false })
    for (const use of [
      () => plain.set('a', '2', HOUR),
      () => plain.ttl('a'),
      () => plain.touch('a', 1),
      () => tx.table('plain', { expires: true }),
    ])
      assert.throws(use, code('WRONG_EXPIRY', { message: /"plain" do not expire/ }))
  })
  assert.throws(() => store.snapshot().table('plain', { expires: true }), code('WRONG_EXPIRY'))
  assert.throws(
    () => store.snapshot().table('t', { values: 'int' }),
    code('WRONG_CODEC', { message: /"str".*"int"/ }),
  )
  const outside = store.table('plain')
  for (const verb of ['set', 'insert', 'replace', 'upsert'])
    assert.throws(() => outside[verb]('a', '2', HOUR), code('WRONG_EXPIRY'), verb)
  assert.equal(store.table('plain').get('a'), '1')
})

test('an expiring table and a plain one with the same number are not mixed up', () => {
  const store = new Store()
  const [plain, other] = [store.table('plain'), store.table('other', { expires: true })]
  plain.set('a', '1')
  other.set('a', '2')
  assert.deepEqual([[...plain], [...other]], [[['a', '1']], [['a', '2']]])
  assert.equal(other.compareAndSwap('a', '2', '3'), true)
  other.clear()
  assert.deepEqual([plain.get('a'), other.size], ['1', 0])
})
