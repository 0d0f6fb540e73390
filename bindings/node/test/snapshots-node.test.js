// Snapshots and transactions in Node alone: of stores that threads share or files keep.
import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { open, openSync, Store } from 'twindex'
import { code, newPath, remote, thread } from './helpers.js'
import { filled } from './suites/snapshots.js'

/** How much longer, and by how many threads, money is moved. */
const STRESS = Number(process.env.TWINDEX_STRESS ?? 1)

test('a snapshot of a store without a file has no position, and a batch none of its tables', () => {
  const { store } = filled()
  const snapshot = store.snapshot()
  assert.throws(() => snapshot.position, code('NO_FILE'))
  const write = (batch) => batch.set(snapshot.table('hash'), 'x', 1)
  assert.throws(() => store.batch(write), code('READ_ONLY', { message: /snapshot/ }))
})

test('the feed from a snapshot has what came after it, and nothing before', async () => {
  const { store, hash } = filled(await open(newPath()))
  const snapshot = store.snapshot()
  hash.set('e', 4)
  const { changes } = await store.changes(snapshot.position).poll()
  assert.deepEqual(changes, [{ kind: 'put', table: 'hash', key: 'e', value: 4 }])
  snapshot.close()
  await store.close()
})

test('a follower has snapshots, and transactions that only read', async () => {
  const path = newPath()
  const writer = await remote(path)
  await writer.tell('many', 10)
  const copy = await open(path, { readOnly: true })
  const snapshot = copy.snapshot()
  await writer.tell('many', 20)
  await copy.refresh()
  assert.deepEqual([snapshot.table('users').size, copy.table('users').size], [10, 20])
  assert.equal(typeof snapshot.position, 'string')
  assert.equal(
    copy.transaction((tx) => tx.table('users').has('none')),
    false,
  )
  assert.throws(() => copy.transaction((tx) => tx.table('users').set('a', 'b')), code('READ_ONLY'))
  await writer.end()
  await copy.close()
})

test('a transaction within one of the same store is refused, whatever handle it has, or is between them', async () => {
  const path = newPath()
  const link = newPath()
  const stores = { own: filled().store, shared: new Store({ shared: 'nested' }), file: openSync(path) }
  symlinkSync(path, link)
  const others = { own: stores.own, shared: new Store({ shared: 'nested' }), file: openSync(link) }
  const between = new Store()
  for (const [what, store] of Object.entries(stores)) {
    const { hash } = filled(store)
    const inner = () => others[what].transaction((tx) => tx.table('hash').increment('a'))
    const later = async (work) => {
      await sleep(1)
      return work()
    }
    const ways = [
      () => store.transaction(inner),
      () => store.transaction(() => between.transaction(inner)),
      () => store.transaction(async () => later(inner)),
      () => store.transaction(async () => later(() => between.transaction(async () => later(inner)))),
    ]
    for (const way of ways)
      await assert.rejects(async () => way(), code('IN_WRITE', { message: /is running/ }), `${what}: ${way}`)
    assert.equal(hash.get('a'), 0)
    // What goes on behind the outer one's end is not within it.
    let after
    store.transaction(async () => {
      after = sleep(10).then(() => between.transaction(inner))
    })
    assert.equal(await after, 1)
    assert.equal(
      stores.own.transaction(() => between.transaction(() => 1)),
      1,
    )
  }
  for (const { file } of [stores, others]) await file.close()
})

test('money moved by several threads is never lost or created, as snapshots see it', async () => {
  const shared = 'money'
  const store = new Store({ shared })
  const accounts = store.table('accounts', { index: 'sorted', values: 'int' })
  for (let n = 0; n < 10; n++) accounts.set(`account-${n}`, 100)
  const moves = 300 * STRESS
  const workers = Array.from({ length: STRESS > 1 ? 16 : 2 }, () => thread('mover', { shared, moves }))
  let ended = 0
  for (const worker of workers) worker.once('exit', () => ended++)
  const sum = (table) => [...table.values()].reduce((all, n) => all + n, 0)
  for (let checks = 0; ended < workers.length || checks < 10; checks++) {
    const snapshot = store.snapshot()
    assert.equal(sum(snapshot.table('accounts')), 1000)
    snapshot.close()
    assert.equal(
      store.transaction((tx) => sum(tx.table('accounts'))),
      1000,
    )
    await sleep(0)
  }
  assert.equal(store.stats().snapshots, 0)
  assert.notDeepEqual(new Set(accounts.values()), new Set([100]))
})
