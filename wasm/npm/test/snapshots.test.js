// Snapshots and transactions, as far as this package has a part in them: the classes are Node's, and the module's own tests are
// those of the C interface.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { load as loadSmall } from 'twindex-wasm'
import { load } from 'twindex-wasm/caches'

const { Store, Snapshot } = await load()
const code = (name) => ({ code: `TWINDEX_${name}` })

function filled() {
  const store = new Store()
  const hash = store.table('hash', { values: 'int' })
  const sorted = store.table('sorted', { index: 'sorted', keys: 'tuple', values: 'json' })
  for (const [n, name] of ['a', 'b', 'c'].entries()) {
    hash.set(name, n)
    sorted.set([name, n], { n })
  }
  return { store, hash, sorted }
}

test('a snapshot shows one moment with all verbs that read, until it is closed', () => {
  const { store, hash, sorted } = filled()
  const snapshot = store.snapshot()
  assert.ok(snapshot instanceof Snapshot && snapshot.store === store)
  hash.upsertMany(['a', 'b', 'c', 'd'].map((name) => [name, 99]))
  sorted.clear()
  store.dropTable('hash')
  store.table('later')
  const [then, order] = [snapshot.table('hash'), snapshot.table('sorted')]
  assert.deepEqual([then.index, then.codecs, then.size], ['hash', { keys: 'str', values: 'int' }, 3])
  assert.deepEqual([then.get('b'), then.has('d'), then.selectMany(['c', 'd'])], [1, false, [2, undefined]])
  assert.deepEqual(Object.fromEntries(then), { a: 0, b: 1, c: 2 })
  assert.deepEqual([...order.scan({ gte: ['b'], reverse: true, limit: 1 })], [[['c', 2], { n: 2 }]])
  assert.deepEqual(
    [order.first(), order.last()],
    [
      [['a', 0], { n: 0 }],
      [['c', 2], { n: 2 }],
    ],
  )
  assert.deepEqual(snapshot.tables(), [
    ['hash', 'hash'],
    ['sorted', 'sorted'],
  ])
  const { snapshots, keptBytes } = store.stats()
  assert.ok(snapshots === 1 && keptBytes > 0)

  const [cursor, walk] = [order.cursor(), order.entries()]
  walk.next()
  for (const [work, error] of [
    [() => snapshot.table('later'), code('NO_TABLE')],
    [() => snapshot.table('hash', { index: 'sorted' }), code('WRONG_INDEX')],
    [() => snapshot.table('hash', { values: 'json' }), code('WRONG_CODEC')],
    [() => snapshot.position, code('NOT_SUPPORTED')],
    [() => then.set('a', 1), code('READ_ONLY')],
    [() => order.popFirst(), code('READ_ONLY')],
    [() => new Snapshot(), code('TYPE')],
  ]) {
    assert.throws(work, error, String(work))
  }
  snapshot[Symbol.dispose]()
  const uses = [
    () => snapshot.table('sorted'),
    () => snapshot.tables(),
    () => then.get('a'),
    () => then.size,
    () => order.entries(),
    () => order.scan(),
    () => walk.next(),
    () => cursor.scanAscNext(),
  ]
  for (const work of uses)
    assert.throws(work, { ...code('ENDED'), message: 'the snapshot is closed' }, String(work))
  assert.deepEqual(store.stats(), {
    tables: 2,
    memory: store.memory,
    snapshots: 0,
    keptBytes: 0,
    transactions: 0,
  })
  const again = store.snapshot()
  store.closeSync()
  assert.throws(() => again.table('sorted'), code('CLOSED'))
  assert.throws(() => store.snapshot(), code('CLOSED'))
})

test('a transaction has the verbs of a table, and takes effect as a whole', async () => {
  const { store, hash, sorted } = filled()
  const work = (tx) => {
    const [table, order] = [tx.table('hash'), tx.table('sorted')]
    assert.deepEqual(
      [table.insert('a', 9), table.replace('x', 9), table.upsert('e', 9)],
      [false, false, true],
    )
    assert.deepEqual([table.increment('f', 2n), table.delete('a'), table.take('e')], [2n, true, 9])
    assert.deepEqual([table.compareAndSwap('f', 2, 5), table.alter('b', (n) => n + 10)], [true, true])
    assert.deepEqual([table.selectMany(['f', 'x']), table.incrementMany([['f', 1]])], [[5, undefined], [6]])
    order.upsertMany(Array.from({ length: 500 }, (_, n) => [['m', n], 'x'.repeat(n)]))
    const keys = (options) => Array.from(order.scan(options), ([[, n]]) => n)
    const all = Array.from({ length: 500 }, (_, n) => n)
    assert.deepEqual(keys({ prefix: ['m'] }), all)
    assert.deepEqual(keys({ prefix: ['m'], reverse: true, limit: 300 }), all.toReversed().slice(0, 300))
    assert.deepEqual(
      [order.deletePrefix(['m']), order.popFirst()[1], order.deleteRange({ gt: ['b', 1] })],
      [500, { n: 0 }, 1],
    )
    assert.deepEqual([hash.get('a'), sorted.size], [0, 3])
    return 'done'
  }
  assert.equal(store.transaction(work), 'done')
  assert.deepEqual(Object.fromEntries(hash), { b: 11, c: 2, f: 6 })
  assert.deepEqual([...sorted], [[['b', 1], { n: 1 }]])
})

test('a transaction restarts when what it read was changed, and nothing of one that fails is written', async () => {
  const { store, hash, sorted } = filled()
  const add = async (tx) => {
    const table = tx.table('hash')
    const n = table.get('a')
    await null
    table.set('a', n + 1)
  }
  await Promise.all(Array.from({ length: 30 }, () => store.transaction(add)))
  assert.equal(hash.get('a'), 30)
  let runs = 0
  const stubborn = (tx) => {
    runs++
    const table = tx.table('hash')
    table.get('a')
    hash.increment('a')
    assert.throws(() => table.get('b'), code('CONFLICT'))
  }
  assert.throws(() => store.transaction(stubborn), code('CONFLICT'))
  assert.equal(runs, 1000)
  let kept
  const failing = [
    [(tx) => tx.table('none'), 'NO_TABLE'],
    [(tx) => tx.table('hash').size, 'NOT_SUPPORTED'],
    [(tx) => tx.table('hash').scan(), 'WRONG_INDEX'],
    [(tx) => tx.table('sorted').increment(['a', 0]), 'NOT_AN_INTEGER'],
    [() => store.transaction(() => {}), 'IN_WRITE'],
    [() => store.dropTable('sorted'), 'TABLE_DROPPED'],
  ]
  for (const [work, error] of failing) {
    const run = (tx) => {
      kept = tx.table('hash').set('z', 1)
      tx.table('sorted').set(['z'], 1)
      work(tx)
    }
    assert.throws(() => store.transaction(run), code(error), String(work))
    assert.throws(() => kept.get('a'), code('ENDED'))
  }
  assert.deepEqual([hash.has('z'), sorted.size, store.stats().transactions], [false, 0, 0])
  store.memoryLimit = store.memory + 10_000
  assert.throws(
    () => store.transaction((tx) => tx.table('hash', { values: 'bytes' }).set('a', new Uint8Array(100_000))),
    code('MEMORY_LIMIT'),
  )
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

test('a pair that cannot be shown stays where it was to be taken', () => {
  const { store } = filled()
  const old = {
    name: 'old',
    format: 'str',
    encode: (value) => value,
    decode() {
      throw new Error('of a later version')
    },
  }
  const open = (name, options) => store.table(name, { index: 'sorted', ...options })
  open('bytes', { keys: 'str', values: 'str' })
  const bytes = open('bytes', { keys: 'bytes', values: 'bytes' })
  const cases = [
    [open('values', { values: old }), { message: 'of a later version' }],
    [open('keys', { keys: old }), { message: 'of a later version' }],
    [open('bytes'), /UTF-8/],
  ]
  for (const [table, error] of cases) {
    if (table.name === 'bytes')
      for (const n of [1, 2, 3]) bytes.set(Uint8Array.of(97, n), Uint8Array.of(200, n))
    else for (const key of ['a', 'b', 'c']) table.set(key, key)
    const key = table.name === 'bytes' ? 'a\u0001' : 'b'
    if (table.name !== 'keys') assert.throws(() => table.take(key), error)
    assert.throws(() => table.popFirst(), error)
    assert.throws(() => table.popLast(), error)
    assert.equal(table.size, 3)
  }
  assert.deepEqual([...bytes.popFirst()[1]], [200, 1])
  assert.deepEqual([...bytes.popLast()[1]], [200, 3])
  assert.deepEqual([...bytes.take(Uint8Array.of(97, 2))], [200, 2])
  const empty = open('empty')
  assert.deepEqual([empty.popFirst(), empty.popLast(), empty.take('a')], [undefined, undefined, undefined])
  const then = store.snapshot().table('empty', { index: 'sorted' })
  for (const verb of ['popFirst', 'popLast', 'take'])
    assert.throws(() => then[verb]('a'), code('READ_ONLY'), verb)
  assert.throws(() => store.table('hash').popFirst(), code('WRONG_INDEX'))
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

test('pairs are taken from a table, and a cursor seeks', () => {
  const { sorted } = filled()
  const cursor = sorted.cursor()
  assert.deepEqual([cursor.key, cursor.value], [undefined, undefined])
  cursor.seek(['b'])
  assert.deepEqual(cursor.scanAscNext(), [['b', 1], { n: 1 }])
  sorted.set(['b', 1], 'new')
  assert.deepEqual([cursor.key, cursor.value], [['b', 1], 'new'])
  assert.deepEqual([sorted.take(['b', 1]), sorted.take(['b', 1])], ['new', undefined])
  assert.deepEqual([cursor.key, cursor.value], [['b', 1], undefined])
  assert.deepEqual(
    [sorted.popLast(), sorted.deletePrefix(['a']), sorted.popFirst()],
    [[['c', 2], { n: 2 }], 1, undefined],
  )
})
