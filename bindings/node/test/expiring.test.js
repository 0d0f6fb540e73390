// Tables whose pairs expire: each verb over an expired pair, and what refuses such tables.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DELETE, ExpiringTable, Store, Table } from 'twindex'
import { code, expire } from './helpers.js'

const SOON = { ttl: 5 }
const HOUR = { ttl: 3_600_000 }

/** A sorted table with the pair `old`, which has expired and is not removed. */
async function expired(options) {
  const table = new Store().table('t', { index: 'sorted', expires: true, ...options })
  const value = options?.values === 'bytes' ? Buffer.from('1') : options?.values === 'int' ? 1 : '1'
  table.set('old', value, SOON)
  await expire(table, 'old')
  assert.equal(table.size, 1)
  return table
}

const VERBS = [
  ['get', ['old'], undefined],
  ['select', ['old'], undefined],
  ['contains', ['old'], false],
  ['ttl', ['old'], undefined],
  ['touch', ['old', 1000], false],
  ['insert', ['old', '2'], true],
  ['replace', ['old', '2'], false],
  ['upsert', ['old', '2'], true],
  ['delete', ['old'], false],
  ['take', ['old'], undefined],
  ['compareAndSwap', ['old', '1', '2'], false],
  ['compareAndSwap', ['old', undefined, '2'], true],
  ['alter', ['old', () => DELETE], false],
  ['alter', ['old', (seen) => String(seen)], true],
  ['increment', ['old', 2], 2],
  ['increment', ['old', 2n], 2n],
  ['first', [], undefined],
  ['last', [], undefined],
  ['popFirst', [], undefined],
  ['popLast', [], undefined],
  ['deleteRange', [], 0],
  ['deletePrefix', ['o'], 0],
  ['removeExpired', [], 1],
  ['removeExpired', [0], 0],
  ['insertMany', [[['old', '2']]], [true]],
  ['replaceMany', [[['old', '2']]], [false]],
  ['upsertMany', [[['old', '2']]], [true]],
  ['deleteMany', [['old']], [false]],
  ['selectMany', [['old']], [undefined]],
  ['containsMany', [['old']], [false]],
  ['incrementMany', [[['old', 3]]], [3]],
  ['compareAndSwapMany', [[['old', '1', '2']]], [false]],
]

test('an expired pair is absent for every verb', async () => {
  await Promise.all(
    VERBS.map(async ([verb, given, expected]) => {
      const table = await expired()
      assert.deepEqual(table[verb](...given), expected, verb)
    }),
  )
  const bytes = await expired({ values: 'bytes' })
  assert.deepEqual([bytes.take('old'), bytes.popFirst()], [undefined, undefined])
})

test('an expired pair is absent for scans, cursors and iterators', async () => {
  const table = await expired()
  table.set('a', '1').set('z', '2', HOUR)
  const pairs = [
    ['a', '1'],
    ['z', '2'],
  ]
  assert.deepEqual([...table], pairs)
  assert.deepEqual(
    [[...table.keys()], [...table.values()]],
    [
      ['a', 'z'],
      ['1', '2'],
    ],
  )
  assert.deepEqual([...table.scan({ limit: 2 })], pairs)
  assert.deepEqual([...table.scan({ gte: 'a', reverse: true })], [...pairs].reverse())
  assert.deepEqual([...table.prefix('o')], [])
  const cursor = table.cursor()
  assert.deepEqual([cursor.scanAscNext(), cursor.key, cursor.value], [pairs[0], 'a', '1'])
  assert.deepEqual([cursor.scanAscNextMany(5), cursor.scanAscNext()], [[pairs[1]], undefined])
  cursor.seek('m')
  assert.deepEqual([cursor.scanAscNext(), cursor.scanDescNext()], [pairs[1], pairs[0]])
  assert.deepEqual([table.first(), table.popLast()], pairs)
  const hash = new Store().table('h', { expires: true, values: 'int' }).set('old', 1, SOON).set('a', 2)
  await expire(hash, 'old')
  assert.deepEqual([...hash], [['a', 2]])
})

test('every write says how long its pair lives, and without that it stays', () => {
  const table = new Store().table('t', { expires: true, values: 'int' })
  const lives = (key) => (table.ttl(key) === Number.POSITIVE_INFINITY ? 'ever' : table.ttl(key) > 3_590_000)
  table.insert('a', 1, HOUR)
  assert.equal(lives('a'), true)
  table.increment('a', 1)
  table.alter('a', (value) => value + 1)
  assert.deepEqual([table.get('a'), lives('a')], [3, true])
  for (const [write, expected] of [
    [() => table.replace('a', 1), 'ever'],
    [() => table.touch('a', HOUR.ttl), true],
    [() => table.upsert('a', 1, { ttl: Number.POSITIVE_INFINITY }), 'ever'],
    [() => table.upsertMany([['a', 1]], HOUR), true],
    [() => table.replaceMany([['a', 1]]), 'ever'],
    [() => table.touch('a', HOUR.ttl), true],
    [() => table.touch('a', undefined), 'ever'],
    [() => table.delete('a') && table.increment('a', 1, HOUR), true],
    [() => table.delete('a') && table.incrementMany([['a', 1]], HOUR), true],
    [() => table.delete('a') && table.insertMany([['a', 1]], HOUR), true],
    [() => table.delete('a') && table.compareAndSwap('a', undefined, 1), 'ever'],
  ]) {
    write()
    assert.equal(lives('a'), expected, String(write))
  }
})

test('a time to live out of range is refused before anything is written', () => {
  const table = new Store().table('t', { expires: true })
  for (const ttl of [0, -1, Number.NaN, 1e300]) {
    assert.throws(() => table.set('a', '1', { ttl }), code('TTL'))
    assert.throws(() => table.upsertMany([['a', '1']], { ttl }), code('TTL'))
    assert.throws(() => table.touch('a', ttl), code('TTL'))
    assert.throws(() => table.increment('a', 1, { ttl }), code('TTL'))
  }
  assert.throws(() => table.set('a', '1', { ttl: '5' }), code('TYPE'))
  assert.throws(() => table.set('a', '1', { time: 5 }), code('RANGE'))
  assert.equal(table.size, 0)
})

test('a table remembers whether its pairs expire', () => {
  const store = new Store()
  const table = store.table('t', { expires: true, values: 'json' }).set('a', [1], HOUR)
  assert.ok(table instanceof ExpiringTable && table instanceof Table)
  assert.ok(!(store.table('plain') instanceof ExpiringTable))
  assert.equal(store.table('t').ttl('a'), table.ttl('a'))
  assert.deepEqual(store.table('t').codecs, { keys: 'str', values: 'json' })
  assert.throws(() => store.table('t', { expires: false }), code('WRONG_EXPIRY'))
  assert.throws(() => store.table('plain', { expires: true }), code('WRONG_EXPIRY'))
  assert.throws(() => store.table('t', { values: 'int' }), code('WRONG_CODEC', { message: /"json".*"int"/ }))
  assert.throws(() => store.table('t', { expires: 1 }), code('TYPE'))
  assert.throws(() => store.table('none', { expires: true, create: false }), code('NO_TABLE'))
  const own = { name: 'own', encode: String, decode: Number, format: 'str' }
  store.table('own', { expires: true, values: own }).set('a', 1)
  assert.throws(() => store.table('own'), code('WRONG_CODEC'))
  assert.equal(store.table('t').get('a')[0], 1)
})

test('a transaction has tables whose pairs expire, with the same verbs', async () => {
  const store = new Store()
  const sorted = { index: 'sorted', expires: true, values: 'int' }
  const table = store.table('t', sorted).set('old', 1, SOON).set('a', 1, HOUR)
  await expire(table, 'old')
  const isHour = (ttl) => ttl > 3_590_000 && ttl <= HOUR.ttl
  store.transaction((tx) => {
    const inside = tx.table('t', sorted)
    for (const [verb, given, expected] of [
      ['get', ['old'], undefined],
      ['ttl', ['old'], undefined],
      ['touch', ['old', 1000], false],
      ['replace', ['old', 2], false],
      ['delete', ['old'], false],
      ['compareAndSwap', ['old', 1, 2], false],
      ['increment', ['a', 2, SOON], 3],
      ['alter', ['a', (value) => value + 1], true],
      ['compareAndSwap', ['a', 4, 5], true],
      ['take', ['none'], undefined],
      ['insertMany', [[['b', 1]].concat([['a', 1]]), HOUR], [true, false]],
      ['incrementMany', [[['c', 7]], HOUR], [7]],
      ['upsert', ['d', 1], true],
      ['popLast', [], ['d', 1]],
      ['first', [], ['a', 5]],
    ])
      assert.deepEqual(inside[verb](...given), expected, verb)
    assert.deepEqual([...inside.keys()], ['a', 'b', 'c'])
    for (const key of inside.keys()) assert.ok(isHour(inside.ttl(key)), key)
    inside.set('ever', 1).touch('b', 1000)
    for (const ttl of [0, Number.NaN]) assert.throws(() => inside.set('a', 1, { ttl }), code('TTL'))
  })
  assert.deepEqual(
    ['a', 'b', 'c', 'ever'].map((key) => (isHour(table.ttl(key)) ? 'hour' : table.ttl(key) <= 1000)),
    ['hour', true, 'hour', false],
  )
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
  const outside = store.table('plain')
  for (const verb of ['set', 'insert', 'replace', 'upsert'])
    assert.throws(() => outside[verb]('a', '2', HOUR), code('WRONG_EXPIRY'), verb)
  assert.equal(store.table('plain').get('a'), '1')
})

test('a snapshot shows what had not expired at its moment, and goes on to', async () => {
  const store = new Store()
  const table = store.table('t', { expires: true }).set('a', '1', { ttl: 200 }).set('old', '2', SOON)
  await expire(table, 'old')
  const snapshot = store.snapshot()
  const then = snapshot.table('t')
  await expire(table, 'a')
  assert.deepEqual([[...then], then.get('a'), then.has('old')], [[['a', '1']], '1', false])
  assert.ok(then.ttl('a') > 0 && then.ttl('a') <= 200)
  assert.throws(() => then.set('a', '2'), code('READ_ONLY'))
  assert.throws(() => then.touch('a', 5), code('READ_ONLY'))
  assert.throws(() => then.removeExpired(), code('READ_ONLY'))
  assert.throws(
    () => snapshot.table('t', { values: 'int' }),
    code('WRONG_CODEC', { message: /"str".*"int"/ }),
  )
  snapshot.close()
  assert.throws(() => then.get('a'), code('ENDED'))
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
