// Wrong arguments and calls out of turn: a clear error with a code, and a store that stays as it was. The WebAssembly package runs
// this too.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cache, Cursor, Store, Table, TwindexError } from 'twindex'
import { code } from './helpers.js'

const BYTES = Buffer.from('a')
const CHANGE = () => {}
const WRONG = [42, 1n, true, null, undefined, Symbol('s'), {}, [], CHANGE, BYTES, new Date(0)]

const store = new Store()
const table = store.table('t')
const sorted = store.table('s', { index: 'sorted' })
const bytes = store.table('b', { keys: 'bytes', values: 'view' })
for (const each of [table, sorted]) each.insert('a', '1')

const isType = code('TYPE', { name: 'TypeError' })
const isRange = code('RANGE', { name: 'RangeError' })

/** Each of `calls` refuses each of the values that are wrong for most arguments, but for those that are right for it. */
function refuse(calls, { right = [], more = [] } = {}) {
  for (const wrong of [...WRONG.filter((value) => !right.includes(value)), ...more])
    for (const call of calls) assert.throws(() => call(wrong), isType, `${call} of ${String(wrong)}`)
}

/** Calls of these verbs, with their arguments made of the wrong one. */
const verbs = (names, given) => names.map((name) => (wrong) => table[name](...given(wrong)))

test('many are an iterable, and pairs are pairs', () => {
  const many = ['select', 'contains', 'delete', 'insert', 'increment', 'compareAndSwap'].map(
    (it) => `${it}Many`,
  )
  refuse(
    verbs(many, (wrong) => [wrong]),
    { right: WRONG.filter((value) => value?.[Symbol.iterator]), more: ['text'] },
  )
  for (const wrong of [['a'], ['a', 'b', 'c'], 'ab', 42, null, { 0: 'a', 1: 'b' }])
    assert.throws(() => table.insertMany([['x', 'y'], wrong]), isType)
  assert.throws(() => table.compareAndSwapMany([['a', '1']]), isType)
  const broken = (function* () {
    yield ['x', 'y']
    throw new Error('broken')
  })()
  assert.throws(() => table.insertMany(broken), /broken/)
})

test('options are known, of their type, and in no conflict', () => {
  const objects = WRONG.filter((value) => typeof value === 'object' && value !== null)
  const wholes = [
    (it) => new Store(it),
    (it) => store.table('x', it),
    (it) => sorted.scan(it),
    (it) => sorted.cursor(it),
  ]
  refuse(wholes, { right: [undefined, ...objects] })
  const one = (name, call) => (value) => call({ [name]: value })
  const ends = ['gt', 'gte', 'lt', 'lte', 'prefix']
  refuse(
    [
      ...['index', 'keys', 'values'].map((name) => one(name, (it) => store.table('x', it))),
      ...ends.flatMap((name) => [one(name, (it) => sorted.scan(it)), one(name, (it) => sorted.cursor(it))]),
    ],
    { right: [undefined] },
  )
  refuse([one('reverse', (it) => sorted.scan(it))], { right: [undefined, true] })
  refuse([one('limit', (it) => sorted.scan(it))], { right: [undefined, 42] })
  const limit = (value) => {
    store.memoryLimit = value
  }
  refuse([one('memoryLimit', (it) => new Store(it)), limit], { right: [undefined, null, 42] })
  for (const [call, error] of [
    [() => store.table('x', { index: 'btree' }), code('UNKNOWN_INDEX', { message: /"btree"/ })],
    [() => store.table('x', { keys: 'json' }), { ...isRange, message: /'json'.*bytes, str, int, tuple/ }],
    [() => store.table('x', { values: 'toString' }), isRange],
    [() => store.table('x', { order: 'asc' }), { ...isRange, message: /'order'.*index, keys, values/ }],
    [() => new Store({ limit: 1 }), isRange],
    [() => new Store({ shared: '' }), isRange],
    [() => sorted.cursor({ limit: 1 }), isRange],
  ])
    assert.throws(call, error)
  const conflicts = [
    { gt: 'a', gte: 'a' },
    { lt: 'a', lte: 'a' },
    { prefix: 'a', gt: 'a' },
    { prefix: '', lte: 'a' },
  ]
  for (const bad of [...conflicts, { from: 'a' }]) {
    assert.throws(() => sorted.scan(bad), isRange)
    assert.throws(() => sorted.cursor(bad), isRange)
  }
  for (const bad of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => sorted.scan({ limit: bad }), isRange)
    assert.throws(() => sorted.cursor().scanAscNextMany(bad), isRange)
    assert.throws(() => new Store({ memoryLimit: bad }), isRange)
  }
})

test('names and callbacks are of their type', () => {
  refuse([(it) => store.table(it), (it) => store.dropTable(it)])
  refuse([(it) => Store.loadSync(it)], { right: [BYTES] })
  refuse([(it) => table.alter('a', it), (it) => table.forEach(it)], { right: [CHANGE] })
  for (const name of ['', 'x'.repeat(256)]) assert.throws(() => store.table(name), code('TABLE_NAME'))
})

test('an old name fails with an error that gives the new one', () => {
  const inside = store.transaction((tx) => tx.table('t'))
  for (const of of [table, inside, new Cache({ max: 1 })]) {
    assert.throws(() => of.update('a', 'b'), code('RANGE', { message: 'there is no update(), use replace' }))
    assert.throws(() => of.expire('a', 1), code('RANGE', { message: /use touch/ }))
    assert.equal(Object.keys(of).includes('update'), false)
  }
})

test('an error names what was wrong, and runs no code of it', () => {
  for (const [call, message] of [
    [() => table.insert(42, 'x'), /a key is a string here .*keys: 'int'.*, not 42/],
    [() => table.insert('x', undefined), /a value is a string here .*values: 'json'.*, not undefined/],
    [() => bytes.insert('x'.repeat(100), BYTES), /a Uint8Array .*, not 'x{40}'\.\.\. 60 more/],
  ])
    assert.throws(call, { message })
  const long = code('KEY_TOO_LONG', {
    name: 'TwindexError',
    message: /65536.*65535.*kkk/,
    stack: /arguments\.test\.js/,
  })
  assert.throws(() => table.insert('k'.repeat(65_536), ''), long)
  assert.ok(new TwindexError('TWINDEX_IO', 'no') instanceof Error)
  const fail = () => assert.fail('it ran')
  const hostile = { [Symbol.for('nodejs.util.inspect.custom')]: fail, toString: fail }
  for (const key of [hostile, new Proxy({}, { get: fail, getPrototypeOf: fail })])
    assert.throws(() => table.insert(key, 'x'), isType)
})

test('only the store makes tables, and only a table makes cursors', () => {
  assert.throws(() => new Table(), { ...isType, message: /store\.table/ })
  assert.throws(() => new Cursor(), { ...isType, message: /table\.cursor/ })
  assert.throws(() => Store(), TypeError)
  for (const receiver of [{}, store])
    assert.throws(() => Table.prototype.insert.call(receiver, 'a', 'b'), TypeError)
  assert.throws(() => Cursor.prototype.scanAscNext.call(table), TypeError)
})

test('a closed store is closed, and so is all that came from it', async () => {
  // The vectors have every verb; here is what only JavaScript has.
  const gone = new Store()
  const log = gone.table('log', { index: 'sorted', values: 'bytes' }).set('a', BYTES).set('b', BYTES)
  const [cursor, begun, fresh, hash] = [log.cursor(), log.entries(), log.entries(), gone.table('t').entries()]
  begun.next()
  assert.equal(gone.closed, false)
  gone.closeSync()
  assert.equal(gone.closed, true)
  gone[Symbol.dispose]()
  for (const work of [
    () => gone.memory,
    () => gone.memoryLimit,
    () => gone.dumpSync(),
    () => log.memory,
    () => log.entries(),
    () => cursor.scanDescNextMany(1),
    ...[begun, fresh, hash].map((iterator) => () => iterator.next()),
  ])
    assert.throws(work, code('CLOSED', { name: 'TwindexError' }), String(work))
  assert.equal(log.name, 'log')
  await assert.rejects(gone.dump(), code('CLOSED'))
})

test('a memory limit can be changed and taken away', () => {
  const limited = new Store({ memoryLimit: 100_000 })
  const full = limited.table('t')
  const isRefused = code('MEMORY_LIMIT', { name: 'TwindexError', message: /100000/ })
  assert.throws(() => full.set('a', 'x'.repeat(100_000)), isRefused)
  for (const limit of [null, 2 ** 40, undefined]) {
    limited.memoryLimit = limit
    assert.equal(limited.memoryLimit, limit ?? undefined)
    full.set('a', 'x'.repeat(100_000))
  }
})
