// Snapshots and transactions of a store, whatever it is kept in.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Store } from 'twindex'

const names = ['a', 'b', 'c', 'd']

/** A store with a table of each index, whatever it is kept in. */
export function filled(store = new Store()) {
  const hash = store.table('hash', { values: 'int' })
  const sorted = store.table('sorted', { index: 'sorted', keys: 'tuple', values: 'json' })
  for (const [n, name] of names.entries()) {
    hash.set(name, n)
    sorted.set([name, n], { n })
  }
  return { store, hash, sorted }
}

/** What each of some calls gives. */
export function give(calls) {
  for (const [call, result] of calls) assert.deepEqual(call(), result, String(call))
}

/** Tests a store that `make` opens. `again` opens one that is in a file again. */
export function testVerbs(where, make, again) {
  test(`a snapshot of a store ${where} shows one moment with all verbs that read`, async () => {
    const { store, hash, sorted } = filled(make())
    const snapshot = store.snapshot()
    hash.upsertMany(names.map((name) => [name, 99]))
    sorted.clear()
    store.dropTable('hash')
    store.table('later')
    const [then, order] = [snapshot.table('hash'), snapshot.table('sorted')]
    give([
      [() => [then.name, then.index, then.codecs.values, then.store], ['hash', 'hash', 'int', store]],
      [() => [then.get('b'), then.select('x'), then.has('a'), then.size], [1, undefined, true, 4]],
      [() => then.selectMany(['d', 'x']), [3, undefined]],
      [() => then.containsMany(['d', 'x']), [true, false]],
      [() => Object.fromEntries([...then].sort()), { a: 0, b: 1, c: 2, d: 3 }],
      [() => [...order.keys()].flat(), ['a', 0, 'b', 1, 'c', 2, 'd', 3]],
      [() => Array.from(order.values(), ({ n }) => n), [0, 1, 2, 3]],
      [() => [...order.scan({ gte: ['b'], reverse: true, limit: 1 })], [[['d', 3], { n: 3 }]]],
      [() => order.cursor({ prefix: ['b'] }).scanAscNext(), [['b', 1], { n: 1 }]],
      [() => snapshot.table('sorted', { keys: 'view', values: 'bytes' }).first()[1].toString(), '{"n":0}'],
      [() => snapshot.tables().map(String), ['hash,hash', 'sorted,sorted']],
    ])
    const { snapshots, keptBytes } = store.stats()
    assert.ok(snapshots === 1 && keptBytes > 0)
    snapshot.close()
    assert.deepEqual([store.stats().snapshots, store.stats().keptBytes], [0, 0])
    await store.close()
  })

  test(`a transaction of a store ${where} has the verbs of a table`, async () => {
    const { store, hash, sorted } = filled(make())
    const result = store.transaction((tx) => {
      const table = tx.table('hash')
      const order = tx.table('sorted')
      const all = Array.from({ length: 500 }, (_, n) => n)
      const keys = (options) => Array.from(order.scan(options), ([[, n]]) => n)
      give([
        [() => [table.name, table.index, table.store], ['hash', 'hash', store]],
        [() => [table.get('b'), table.has('x'), table.select('x')], [1, false, undefined]],
        [() => [table.set('f', 1).increment('f', 2), table.increment('f', -1n)], [3, 2n]],
        [() => [table.delete('a'), table.take('f'), table.alter('b', (n) => n + 10)], [true, 2, true]],
        [
          () => [table.incrementMany([['h', 5]]), table.compareAndSwapMany([['z', undefined, 0]])],
          [[5], [true]],
        ],
        [() => [order.first(), order.last()].flat(2), ['a', 0, { n: 0 }, 'd', 3, { n: 3 }]],
        [() => order.upsertMany(all.map((n) => [['m', n], n])).length, 500],
        [() => keys({ prefix: ['m'] }), all],
        [() => keys({ prefix: ['m'], reverse: true, limit: 300 }), all.toReversed().slice(0, 300)],
        [() => [[...order.keys()].length, [...order.values()].length, [...order].length], [504, 504, 504]],
        [() => [order.deletePrefix(['m']), order.popFirst()], [500, [['a', 0], { n: 0 }]]],
        [() => [order.popLast(), order.deleteRange({ lt: ['c'] })], [[['d', 3], { n: 3 }], 1]],
      ])
      assert.equal(hash.get('a'), 0)
      return 'done'
    })
    assert.equal(result, 'done')
    const after = { b: 11, c: 2, d: 3, h: 5, z: 0 }
    assert.deepEqual(new Map(hash), new Map(Object.entries(after)))
    assert.deepEqual([...sorted], [[['c', 2], { n: 2 }]])
    await store.close()
    if (store.path === undefined) return
    const reopened = again(store.path)
    assert.deepEqual(new Map(reopened.table('hash')), new Map(Object.entries(after)))
    await reopened.close()
  })
}
