// Snapshots and transactions, as far as this package alone has a part in them. Node's tests of stores in memory run here too, and the
// module's own tests are those of the C interface.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { load as loadSmall } from 'twindex-wasm'
import { load } from 'twindex-wasm/caches'
import { filled } from '../../../bindings/node/test/suites/snapshots.js'

const { Store, Snapshot } = await load()
const code = (name) => ({ code: `TWINDEX_${name}` })

test('a snapshot is counted until it is closed, and has no position', () => {
  const { store, hash } = filled(new Store())
  const snapshot = store.snapshot()
  hash.set('a', 99)
  assert.ok(snapshot instanceof Snapshot && snapshot.store === store)
  assert.throws(() => snapshot.position, code('NOT_SUPPORTED'))
  const { snapshots, keptBytes } = store.stats()
  assert.ok(snapshots === 1 && keptBytes > 0)
  snapshot.close()
  assert.deepEqual(store.stats(), {
    tables: 2,
    memory: store.memory,
    snapshots: 0,
    keptBytes: 0,
    transactions: 0,
  })
})

test('deadlines pass between transactions, not within one, and what it renews must not have expired by its commit', (t) => {
  let now = Date.now()
  t.mock.method(Date, 'now', () => now)
  const store = new Store()
  const table = store.table('t', { expires: true })
  const renewals = [(part) => part.touch('k'), (part) => part.replace('k', '2'), () => false]
  for (const renew of renewals) {
    table.set('k', '1', { ttl: 1000 })
    const seen = []
    store.transaction((tx) => {
      const part = tx.table('t')
      const before = part.get('k')
      const renewed = renew(part)
      now += 2000
      seen.push([before, renewed, part.has('k')])
    })
    const isRenewed = renew !== renewals[2]
    const again = isRenewed ? [[undefined, false, false]] : []
    assert.deepEqual(seen, [['1', isRenewed, true], ...again])
    assert.equal(table.get('k'), undefined)
  }
})

test('a verb of a transaction finds its key where the input buffer has moved', () => {
  const { store } = filled()
  const key = 'k'.repeat(30_000)
  for (const move of [(table) => table.has(key), (table) => table.set('large', 'x'.repeat(2_000_000))]) {
    const verbs = {
      get: (table) => table.get('a'),
      has: (table) => table.has('a'),
      delete: (table) => table.delete(key),
      take: (table) => table.take(key),
      alter: (table) => table.alter('a', () => 'b'),
      increment: (table) => table.increment('a'),
    }
    for (const [name, verb] of Object.entries(verbs)) {
      store.table(name).set('a', '1')
      store.transaction((tx) => {
        const table = tx.table(name)
        move(table)
        assert.ok([1, 2, '1', true, false, undefined].includes(verb(table)), name)
      })
    }
  }
})

test('an iterator keeps the table that it reads', async () => {
  const { store } = filled()
  const numbers = store.table('numbers', { index: 'sorted' })
  numbers.upsertMany(Array.from({ length: 5000 }, (_, n) => [`${n}`, '']))
  const snapshot = store.snapshot()
  const open = () => snapshot.table('numbers')
  const walks = [open().scan(), open().scan({ reverse: true }), open().keys(), open().entries()]
  for (let round = 0; round < 3; round++) {
    await sleep(1)
    globalThis.gc()
  }
  await sleep(1)
  for (const walk of walks) assert.equal([...walk].length, 5000)
})

test('a transaction within one of the same store is refused, also with one of another store between them', () => {
  const { store, hash } = filled()
  const other = new Store()
  const inner = () => store.transaction((tx) => tx.table('hash').increment('a'))
  const outer = () => store.transaction(() => other.transaction(inner))
  assert.throws(outer, code('IN_WRITE'))
  assert.equal(hash.get('a'), 0)
})

test('the module of pages has snapshots, and says where transactions are', async () => {
  const { Store } = await loadSmall(new URL('../twindex.wasm', import.meta.url))
  const store = new Store()
  store.table('t').set('a', 'b')
  const snapshot = store.snapshot()
  store.table('t').clear()
  assert.equal(snapshot.table('t').get('a'), 'b')
  assert.throws(() => store.transaction(() => {}), {
    code: 'TWINDEX_NOT_SUPPORTED',
    message: /twindex-wasm\/caches/,
  })
})
