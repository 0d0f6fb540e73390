// Snapshots and transactions, as far as JavaScript has a part in them: what the engine promises of them is tested there. The
// WebAssembly package runs this too.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { DELETE, Store } from 'twindex'
import { code, until } from './helpers.js'
import { filled, give, names } from './suites/snapshots.js'

test('a snapshot shows one moment with all verbs that read', async () => {
  const { store, hash, sorted } = filled()
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

test('a transaction has the verbs of a table', async () => {
  const { store, hash, sorted } = filled()
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
})

test('what a snapshot cannot do is a clear error, and its end ends all that was opened through it', () => {
  const { store } = filled()
  const snapshot = store.snapshot()
  store.table('later')
  const table = snapshot.table('sorted')
  const [cursor, walk] = [table.cursor(), table.entries()]
  walk.next()
  for (const [work, error] of [
    [() => snapshot.table('later'), code('NO_TABLE')],
    [() => snapshot.table('hash', { index: 'sorted' }), code('WRONG_INDEX')],
    [() => snapshot.table('hash', { index: 'tree' }), code('UNKNOWN_INDEX')],
    [
      () => snapshot.table('hash', { values: 'json' }),
      code('WRONG_CODEC', { message: /"hash".*"int".*"json"/ }),
    ],
    [() => snapshot.table('hash', { create: true }), code('RANGE', { message: /create/ })],
    [() => snapshot.table(1), code('TYPE')],
    [() => snapshot.table('hash').scan(), code('WRONG_INDEX')],
    [() => structuredClone(snapshot), { name: 'DataCloneError' }],
    [() => new snapshot.constructor(), code('TYPE', { message: /store\.snapshot\(\)/ })],
    ...[
      () => table.set(['x'], 1),
      () => table.insertMany([[['x'], 1]]),
      () => table.delete(['a', 0]),
      () => table.deleteMany([['a', 0]]),
      () => table.compareAndSwap(['a', 0], { n: 0 }, 1),
      () => table.compareAndSwapMany([[['a', 0], { n: 0 }, 1]]),
      () => table.alter(['a', 0], () => DELETE),
      () => table.clear(),
      () => snapshot.table('hash').increment('a'),
      () => snapshot.table('hash').incrementMany([['a', 1]]),
    ].map((work) => [work, code('READ_ONLY', { message: /snapshot/ })]),
  ])
    assert.throws(work, error, String(work))
  assert.equal(table.size, 4)
  snapshot[Symbol.dispose]()
  snapshot.close()
  assert.equal(snapshot.closed, true)
  const uses = [
    () => snapshot.table('sorted'),
    () => snapshot.tables(),
    () => table.get(['a', 0]),
    () => table.size,
    () => table.entries(),
    () => walk.next(),
    () => cursor.scanAscNext(),
  ]
  for (const work of uses)
    assert.throws(work, code('ENDED', { message: 'the snapshot is closed' }), String(work))
  assert.equal(store.table('hash').get('a'), 0)
  // A number that is given away again means another snapshot, and none of the old tables.
  const again = store.snapshot()
  assert.throws(() => table.size, code('ENDED'))
  const [open, walking] = [again.table('sorted'), again.table('hash').entries()]
  walking.next()
  store.closeSync()
  for (const work of [
    () => again.table('hash'),
    () => open.size,
    () => walking.next(),
    () => store.snapshot(),
  ])
    assert.throws(work, code('CLOSED'), String(work))
  again.close()
})

test('what is forgotten gives back what it keeps', async () => {
  const { store } = filled()
  ;(() => {
    store.snapshot().table('hash').entries().next()
    store.transaction((tx) => {
      tx.table('hash').get('a')
      return new Promise(() => {})
    })
  })()
  assert.deepEqual([store.stats().snapshots, store.stats().transactions], [1, 1])
  await until('both are collected', () => {
    globalThis.gc()
    const { snapshots, transactions } = store.stats()
    return snapshots === 0 && transactions === 0
  })
})

// --- transactions

test('a transaction restarts when what it read was changed, and fails after a thousand runs', async () => {
  const { store, hash, sorted } = filled()
  const once = (change) => {
    let runs = 0
    return () => runs++ === 0 && change()
  }
  const meddle = once(() => hash.set('a', 50))
  const add = (tx) => {
    const table = tx.table('hash')
    const n = table.get('a')
    meddle()
    table.set('a', n + 1)
    return n
  }
  assert.deepEqual([store.transaction(add), hash.get('a')], [50, 51])
  // A pair that comes into a range that was read, while an async function waits.
  const join = once(() => sorted.set(['z'], 1))
  const count = await store.transaction(async (tx) => {
    const table = tx.table('sorted')
    const { length } = [...table]
    await sleep(1)
    join()
    table.set(['count'], length)
    return length
  })
  assert.deepEqual([count, sorted.get(['count'])], [5, 5])
  // A verb's conflict that the function catches is one all the same.
  let runs = 0
  const stubborn = (tx) => {
    runs++
    const table = tx.table('hash')
    table.get('a')
    hash.increment('a')
    try {
      table.get('b')
    } catch {}
    table.set('never', 1)
  }
  assert.throws(() => store.transaction(stubborn), code('CONFLICT', { message: /1000/ }))
  assert.equal(runs, 1000)
  await assert.rejects(
    store.transaction(async (tx) => stubborn(tx)),
    code('CONFLICT'),
  )
  assert.deepEqual([hash.has('never'), store.stats().transactions], [false, 0])
  // Many at once on one key: each one is done.
  const before = hash.get('a')
  const increment = async (tx) => {
    const table = tx.table('hash')
    const n = table.get('a')
    await sleep(0)
    table.set('a', n + 1)
  }
  await Promise.all(Array.from({ length: 30 }, () => store.transaction(increment)))
  assert.equal(hash.get('a'), before + 30)
})

test('what a transaction cannot do is a clear error, and nothing is written', async () => {
  const { store, hash } = filled()
  const other = new Store()
  other.table('hash')
  let [kept, table] = []
  const tried = (then) => (tx) => {
    table = tx.table('hash')
    table.set('a', 99)
    kept = tx
    return then(tx)
  }
  const oops = new Error('oops')
  const fail = () => {
    throw oops
  }
  const fails = [
    [fail, (thrown) => thrown === oops],
    [(tx) => tx.table('none'), code('NO_TABLE')],
    [(tx) => tx.table('hash', { create: false }), code('RANGE')],
    [(tx) => tx.table('hash', { index: 'sorted' }), code('WRONG_INDEX')],
    [(tx) => tx.table('hash', { keys: 'int' }), code('WRONG_CODEC')],
    [(tx) => tx.table('hash').scan(), code('WRONG_INDEX')],
    ...['entries', 'keys', 'values', 'forEach', Symbol.iterator].map((verb) => [
      (tx) => tx.table('hash')[verb](() => {}),
      code('WRONG_INDEX', { message: /"hash".*cannot be iterated in a transaction/ }),
    ]),
    [(tx) => tx.table('hash').size, code('NOT_SUPPORTED', { message: /size/ })],
    [(tx) => tx.table('hash').clear(), code('NOT_SUPPORTED')],
    [(tx) => tx.table('hash').set('a', 'text'), code('TYPE')],
    [(tx) => tx.table('hash').set('a'.repeat(70_000), 1), code('KEY_TOO_LONG')],
    [(tx) => tx.table('hash').upsertMany(Object.entries({ a: 1, b: 'x' })), code('TYPE')],
    [(tx) => tx.table('hash').increment('a', 0.5), code('TYPE')],
    [(tx) => tx.table('sorted').increment(['a', 0]), code('NOT_AN_INTEGER')],
    [(tx) => tx.table('hash').alter('a', async () => 1), code('TYPE')],
    [(tx) => tx.table('sorted').scan({ gt: ['a'], gte: ['a'] }), code('RANGE')],
    [(tx) => tx.table('sorted').deletePrefix(), code('TYPE')],
    [(tx) => tx.table('hash').first(), code('WRONG_INDEX')],
    [(tx) => structuredClone(tx), { name: 'DataCloneError' }],
  ]
  for (const [then, error] of fails) {
    const late = async (tx) => {
      await null
      return tried(then)(tx)
    }
    for (const run of [tried(then), tried(async (tx) => then(tx)), late])
      await assert.rejects(async () => store.transaction(run), error, String(then))
    assert.throws(() => table.get('a'), code('ENDED', { message: /ended/ }))
    assert.throws(() => kept.table('hash'), code('ENDED'))
  }
  assert.throws(() => store.transaction(function* () {}), code('TYPE', { message: /generator/ }))
  for (const run of [undefined, 1, {}]) assert.throws(() => store.transaction(run), code('TYPE'))
  assert.throws(() => new kept.constructor(), code('TYPE', { message: /store\.transaction\(\)/ }))
  // Another store's transaction inside is none of this one's business.
  const inner = () => other.transaction(() => 1)
  assert.equal(store.transaction(inner), 1)
  let iterator
  store.transaction((tx) => {
    iterator = tx.table('sorted').keys()
  })
  assert.throws(() => iterator.next(), code('ENDED'))
  assert.deepEqual([hash.get('a'), store.stats().transactions], [0, 0])
  const waiting = store.transaction(async (tx) => {
    tx.table('hash').set('a', 99)
    await sleep(1)
  })
  assert.equal(store.stats().transactions, 1)
  store.closeSync()
  await assert.rejects(waiting, code('CLOSED'))
  assert.throws(() => store.transaction(() => 1), code('CLOSED'))
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

test('a verb on many checks all arguments before it writes the first, and a read finds no key that is too long', () => {
  const { store } = filled()
  const long = 'k'.repeat(70_000)
  const twenty = '\u{20ac}'.repeat(21_846)
  store.transaction((tx) => {
    const table = tx.table('hash')
    const text = tx.table('hash', { keys: 'bytes', values: 'bytes' })
    const tooLong = (bytes) => code('KEY_TOO_LONG', { message: new RegExp(`${bytes} bytes`) })
    const pairs = (bad, value = 1) => new Map().set('x', 1).set(bad, value)
    const buffers = [Buffer.from('x'), Buffer.alloc(65_536)].map((key) => [key, Buffer.of(1)])
    const fails = [
      [() => table.incrementMany(pairs('y', 'no')), code('TYPE')],
      [() => table.incrementMany(pairs('y', 2 ** 60)), code('RANGE')],
      [() => table.incrementMany(pairs(long)), tooLong(70_000)],
      [() => table.upsertMany(pairs(twenty)), tooLong(65_538)],
      [() => table.insertMany(pairs('\ud800')), code('ENCODING')],
      [() => text.upsertMany(buffers), tooLong(65_536)],
      [() => table.deleteMany(['a', long]), tooLong(70_000)],
      [() => table.compareAndSwapMany(['x', long].map((key) => [key, undefined, 1])), tooLong(70_000)],
    ]
    for (const [work, error] of fails) assert.throws(work, error, String(work))
    give([
      [() => table.containsMany([long, 'a', 'x']), [false, true, false]],
      [() => [table.has(twenty), ...table.selectMany([long, 'a'])], [false, undefined, 0]],
      [() => [table.get(long), table.get('k'.repeat(65_535))], [undefined, undefined]],
    ])
    for (const work of [() => table.take(long), () => table.delete(long), () => table.set(long, 1)])
      assert.throws(work, code('KEY_TOO_LONG'))
  })
})

test('a transaction of which a table was dropped, or past the memory limit, writes nothing', () => {
  const { store, hash } = filled()
  const drop = (tx) => {
    tx.table('hash').set('a', 99)
    tx.table('sorted').set(['a'], 99)
    store.dropTable('sorted')
  }
  assert.throws(() => store.transaction(drop), code('TABLE_DROPPED'))
  store.memoryLimit = store.memory + 10_000
  const fill = (tx) => tx.table('hash', { values: 'bytes' }).set('a', Buffer.alloc(100_000))
  assert.throws(() => store.transaction(fill), code('MEMORY_LIMIT'))
  assert.equal(hash.get('a'), 0)
})
