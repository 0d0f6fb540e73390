// Wrong arguments: a clear error with a code, and a store that stays as it was. First those of each kind, then random ones.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Batch, Cache, Cursor, check, open, openSync, recover, Store, Table, TwindexError } from 'twindex'
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

test('a key is of its type', () => {
  refuse([
    ...verbs(['insert', 'replace', 'upsert', 'set'], (key) => [key, 'x']),
    ...verbs(['delete', 'select', 'contains', 'get', 'has', 'increment'], (key) => [key]),
    ...verbs(['compareAndSwap'], (key) => [key, '1', '2']),
    ...verbs(['alter'], (key) => [key, () => 'x']),
    ...verbs(['deleteMany', 'containsMany', 'selectMany'], (key) => [['a', key]]),
    ...verbs(['insertMany', 'replaceMany', 'upsertMany'], (key) => [['a', key].map((each) => [each, 'x'])]),
    ...verbs(['incrementMany'], (key) => [['n', key].map((each) => [each, 1])]),
    ...verbs(['compareAndSwapMany'], (key) => [['a', key].map((each) => [each, '1', '2'])]),
  ])
  refuse([(key) => bytes.insert(key, BYTES)], { right: [BYTES], more: ['a'] })
})

test('a value is of its type', () => {
  refuse([
    ...verbs(['insert', 'replace', 'upsert', 'set'], (value) => ['a', value]),
    ...verbs(['insertMany'], (value) => [['y', value].map((each) => ['x', each])]),
  ])
  const swaps = [
    ...verbs(['compareAndSwap'], (value) => ['a', value, 'x']),
    ...verbs(['compareAndSwap'], (value) => ['a', '1', value]),
    ...verbs(['compareAndSwapMany'], (value) => [[['a', '1', value]]]),
    ...verbs(['alter'], (value) => ['a', () => value]),
  ]
  refuse(swaps, { right: [null, undefined] })
  refuse([(value) => bytes.compareAndSwap(BYTES, value, undefined)], { right: [null, undefined, BYTES] })
  refuse([(value) => bytes.insert(BYTES, value)], { right: [BYTES], more: ['a'] })
})

test('many are an iterable, and pairs are pairs', () => {
  const many = [
    'selectMany',
    'containsMany',
    'deleteMany',
    'insertMany',
    'incrementMany',
    'compareAndSwapMany',
  ]
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
      one('shared', (it) => new Store(it)),
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

test('names, paths and callbacks are of their type', () => {
  refuse([(it) => store.table(it), (it) => store.dropTable(it), (it) => store.saveSync(it ?? null)])
  refuse([(it) => Store.loadSync(it)], { right: [BYTES] })
  refuse([(it) => table.alter('a', it), (it) => table.forEach(it)], { right: [CHANGE] })
  for (const name of ['', 'x'.repeat(256)]) assert.throws(() => store.table(name), code('TABLE_NAME'))
})

test('a hash table has no order', () => {
  const isWrong = code('WRONG_INDEX', { name: 'TwindexError' })
  for (const call of [() => table.cursor(), () => table.scan(), () => store.table('t', { index: 'sorted' })])
    assert.throws(call, isWrong)
})

test('an error names what was wrong, and runs no code of it', () => {
  for (const [call, message] of [
    [() => table.insert(42, 'x'), 'a key of this table is a string, not 42'],
    [() => table.insert('x', undefined), 'a value of this table is a string, not undefined'],
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

test('what belongs to a store is not cloned', () => {
  const isTold = { name: 'DataCloneError', message: /new Store\(\{ shared: 'name' \}\)/ }
  for (const each of [store, table, table.entries(), sorted.cursor(), new Store().cache('c', { max: 1 })])
    assert.throws(() => structuredClone(each), isTold)
})

test('after all that the store is as it was', () => {
  assert.deepEqual(
    new Map(store.tables()),
    new Map([...'bst'].map((name) => [name, name === 's' ? 'sorted' : 'hash'])),
  )
  for (const each of [table, sorted]) assert.deepEqual([...each], [['a', '1']])
  assert.equal(bytes.size, 0)
})

// --- random ones

const ROUNDS = Number(process.env.TWINDEX_STRESS ?? 1) * 4000

const random = (count) => Math.floor(Math.random() * count)
const pick = (items) => items[random(items.length)]

const detached = new Uint8Array(4)
structuredClone(detached.buffer, { transfer: [detached.buffer] })
const revoked = Proxy.revocable([], {})
revoked.revoke()
const fails = (what) => () => {
  throw new RangeError(what, { cause: 'ours' })
}

const VALUES = [
  ...[
    undefined,
    null,
    true,
    0,
    -0,
    1,
    -1,
    1.5,
    2 ** 31,
    2 ** 32,
    2 ** 53,
    1e300,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ],
  ...['', 'a', 'key', '\ud800', 'ä€', '\0', 'x'.repeat(70_000), 'hash', 'sorted', 'str', 'tuple', 'none'],
  ...[
    0n,
    1n,
    -(2n ** 63n),
    2n ** 64n,
    Symbol('s'),
    Symbol.iterator,
    [],
    ['a'],
    ['a', 'b'],
    ['a', 'b', 'c'],
    [[[1]]],
  ],
  ...[
    [['a', 'b']],
    [['a', 1]],
    [[BYTES, BYTES]],
    [['a', undefined, 'b']],
    Array(3),
    new Set(['a']),
    new Map([['a', 'b']]),
  ],
  ...[
    Buffer.alloc(0),
    Buffer.from('key'),
    new Uint8Array(70_000),
    new DataView(new ArrayBuffer(3)),
    detached,
  ],
  ...[
    new Uint8Array(new SharedArrayBuffer(8)),
    new Float64Array(2),
    new ArrayBuffer(4),
    { length: 3 },
    revoked.proxy,
  ],
  ...[
    {},
    { toString: () => 'key' },
    { toJSON: () => undefined },
    { gte: 'a' },
    { gt: 'a', gte: 'b' },
    { limit: -1 },
  ],
  ...[
    { prefix: 'a' },
    { reverse: 1 },
    { limit: 3 },
    { index: 'sorted' },
    { keys: 'int' },
    { values: {} },
    { signal: 1 },
  ],
  ...[
    () => 'a',
    () => undefined,
    () => ({}),
    new Date(),
    /a/,
    new Error('e'),
    Promise.resolve(),
    new WeakMap(),
  ],
  Object.defineProperty({}, 'gte', { get: fails('of the getter'), enumerable: true }),
  { [Symbol.iterator]: fails('of the iterator') },
]

/** An error that tells a program what was wrong, or the one that the argument itself threw. */
function assertTyped(error, call) {
  const isOurs = error?.cause === 'ours'
  // A proxy that was revoked, and the iterator of an array whose memory is gone.
  const isOfTheirs = error instanceof TypeError && /revoked|values on a detached/.test(error.message)
  if (isOurs || isOfTheirs) return
  assert.ok(error instanceof Error, `${call}: ${String(error)}`)
  assert.match(String(error.code), /^TWINDEX_/, `${call}: ${error.stack}`)
  assert.notEqual(error.code, 'TWINDEX_BUG', `${call}: ${error.stack}`)
  const Class = { TWINDEX_TYPE: TypeError, TWINDEX_RANGE: RangeError }[error.code] ?? TwindexError
  assert.ok(error instanceof Class, `${call}: ${error.stack}`)
}

/** Every method, getters aside, of an object's class and of what it extends. */
function methodsOf({ prototype }) {
  const names = []
  for (let at = prototype; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof value === 'function' && name !== 'constructor') names.push(name)
    }
  }
  return names
}

/** Those that end the object, or wait for a disk, have tests of their own. */
const APART = ['close', 'closeSync', 'save', 'saveSync', 'flush', 'compact', 'dump', 'refresh', 'follow']

const KEYS = ['str', 'bytes', 'view', 'int', 'bigint', 'tuple']
const CODECS = [...KEYS.slice(0, 5), 'json', 'msgpack']

test('every call takes any argument, or refuses it by a typed error', async () => {
  const store = new Store({ memoryLimit: 2 ** 26 })
  for (let round = 0; round < ROUNDS; round++) {
    const index = pick(['hash', 'sorted'])
    const codecs = { keys: pick(KEYS), values: pick(CODECS) }
    // A table remembers its codecs, so each choice of them has its own.
    const name = JSON.stringify(codecs)
    const table = store.table(`${index} ${name}`, { index, ...codecs })
    const other = index === 'sorted' ? table.cursor() : store.cache(`cache ${name}`, { ...codecs, max: 100 })
    const target = pick([store, table, table, table, store.batch(), other])
    const method = pick(methodsOf(target.constructor).filter((each) => !APART.includes(each)))
    try {
      const result = target[method](...Array.from({ length: random(4) }, () => pick(VALUES)))
      if (result instanceof Promise) await result
      if (typeof result?.next === 'function') for (let step = 0; step < 3; step++) result.next()
    } catch (error) {
      assertTyped(error, `${target.constructor.name}.${method} of ${name}`)
    }
    if (round % 500 !== 0) continue
    for (const [kept, index] of store.tables()) {
      const seen = store.table(kept, { index, keys: 'bytes', values: 'bytes' })
      assert.equal([...seen].length, seen.size)
      if (!/^(hash|sorted) /.test(kept)) store.dropTable(kept)
    }
  }
})

test('every function and constructor takes any argument, or refuses it by a typed error', async () => {
  for (const value of VALUES) {
    const isPath = typeof value === 'string'
    for (const other of VALUES.slice(0, 40)) {
      for (const make of [
        () => new Store(value),
        () => new Table(value, other),
        () => new Cursor(value, other),
        () => new Batch(value, other),
        () => new Cache(value, other),
        () => new Cache({ max: value, ttl: other }),
        () => (isPath ? undefined : openSync(value, other)),
        () => (isPath ? undefined : Store.loadSync(value)),
      ]) {
        try {
          make()?.closeSync?.()
        } catch (error) {
          assertTyped(error, `${make}`)
        }
      }
    }
    if (isPath) continue
    for (const promise of [
      open(value),
      check(value),
      recover(value, value),
      new Store().save(value ?? null),
    ]) {
      await assert.rejects(promise, (error) => {
        assertTyped(error, 'a promise')
        return true
      })
    }
  }
})
