// Wrong arguments and calls out of turn: a clear error with a code, and a store that stays as it was.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load } from 'twindex-wasm'

const { Store, Table, Cursor, TwindexError } = await load()

const BYTES = Buffer.from('a')
const WRONG = [42, 1n, true, null, undefined, Symbol('s'), {}, [], () => {}, BYTES, new Date(0)]
const except = (...right) => WRONG.filter((value) => !right.includes(value))

const isType = { name: 'TypeError', code: 'TWINDEX_TYPE' }
const isRange = { name: 'RangeError', code: 'TWINDEX_RANGE' }

/** A store with a pair in a table of each index. */
function sample() {
  const store = new Store()
  const table = store.table('t').set('a', '1')
  const sorted = store.table('s', { index: 'sorted' }).set('a', '1')
  return { store, table, sorted }
}

test('keys and values are of their type', () => {
  const { table } = sample()
  for (const wrong of WRONG) {
    for (const verb of ['insert', 'replace', 'upsert', 'set']) {
      assert.throws(() => table[verb](wrong, 'x'), isType)
      assert.throws(() => table[verb]('a', wrong), isType)
    }
    for (const verb of ['delete', 'select', 'contains', 'get', 'has', 'increment']) {
      assert.throws(() => table[verb](wrong), isType)
    }
    for (const verb of ['deleteMany', 'containsMany', 'selectMany'])
      assert.throws(() => table[verb](['a', wrong]), isType)
    for (const pair of [
      [wrong, 'x'],
      ['x', wrong],
    ])
      assert.throws(() => table.insertMany([['b', '2'], pair]), isType)
    assert.throws(() => table.alter(wrong, () => 'x'), isType)
    assert.throws(() => table.compareAndSwap(wrong, '1', '2'), isType)
  }
  for (const wrong of except(null, undefined)) {
    assert.throws(() => table.compareAndSwap('a', wrong, 'x'), isType)
    assert.throws(() => table.alter('a', () => wrong), isType)
  }
  assert.deepEqual([...table], [['a', '1']])
})

test('many are an iterable, and pairs are pairs', () => {
  const { table } = sample()
  for (const wrong of [...except(WRONG[7], BYTES), 'text']) {
    for (const verb of ['selectMany', 'deleteMany', 'insertMany', 'incrementMany', 'compareAndSwapMany'])
      assert.throws(() => table[verb](wrong), isType)
  }
  for (const wrong of [['a'], ['a', 'b', 'c'], 'ab', 42, null]) {
    assert.throws(() => table.insertMany([['x', 'y'], wrong]), isType)
  }
  assert.deepEqual([...table], [['a', '1']])
})

test('options are known, of their type, and in no conflict', () => {
  const { store, table, sorted } = sample()
  for (const wrong of [42, null, 'text', true]) {
    for (const work of [
      () => new Store(wrong),
      () => store.table('x', wrong),
      () => sorted.scan(wrong),
      () => sorted.cursor(wrong),
    ])
      assert.throws(work, isType)
  }
  for (const wrong of except(undefined)) {
    for (const option of ['index', 'keys', 'values'])
      assert.throws(() => store.table('x', { [option]: wrong }), isType)
    for (const end of ['gt', 'gte', 'lt', 'lte', 'prefix'])
      assert.throws(() => sorted.scan({ [end]: wrong }), isType)
  }
  for (const wrong of except(undefined, 42)) assert.throws(() => sorted.scan({ limit: wrong }), isType)
  for (const wrong of except(undefined, true)) assert.throws(() => sorted.scan({ reverse: wrong }), isType)
  for (const wrong of except(undefined, null, 42))
    assert.throws(() => new Store({ memoryLimit: wrong }), isType)
  assert.throws(() => store.table('x', { index: 'btree' }), {
    code: 'TWINDEX_UNKNOWN_INDEX',
    message: /"btree"/,
  })
  assert.throws(() => store.table('x', { keys: 'json' }), {
    ...isRange,
    message: /'json'.*bytes, str, int, tuple/,
  })
  assert.throws(() => store.table('x', { values: 'toString' }), isRange)
  assert.throws(() => new Store({ shared: 'name' }), { ...isRange, message: /'shared'.*memoryLimit/ })
  for (const bad of [
    { gt: 'a', gte: 'a' },
    { lt: 'a', lte: 'a' },
    { prefix: 'a', gt: 'a' },
    { from: 'a' },
    { limit: -1 },
    { limit: 1.5 },
  ])
    assert.throws(() => sorted.scan(bad), isRange)
  for (const work of [() => table.cursor(), () => table.scan(), () => store.table('t', { index: 'sorted' })])
    assert.throws(work, { name: 'TwindexError', code: 'TWINDEX_WRONG_INDEX' })
})

test('an error names what was wrong', () => {
  const { table } = sample()
  const messages = [
    [42, '42'],
    [1n, '1n'],
    [Symbol('s'), 'Symbol(s)'],
    [{}, 'an object'],
    [() => {}, 'a function'],
    [null, 'null'],
  ]
  for (const [wrong, shown] of messages) {
    const message = `a key of this table is a string, not ${shown}`
    assert.throws(() => table.insert(wrong, 'x'), { message })
  }
  assert.throws(
    () => table.insert('k'.repeat(65_536), ''),
    (error) => {
      assert.ok(error instanceof TwindexError && error instanceof Error)
      assert.equal(error.code, 'TWINDEX_KEY_TOO_LONG')
      assert.match(error.message, /65536.*65535.*kkk/)
      return true
    },
  )
})

test('only the store makes tables, and only a table makes cursors', () => {
  const { store, table } = sample()
  assert.throws(() => new Table(), { ...isType, message: /store\.table/ })
  assert.throws(() => new Cursor(), { ...isType, message: /table\.cursor/ })
  assert.throws(() => Table.prototype.insert.call(store, 'a', 'b'), TypeError)
  assert.throws(() => Cursor.prototype.scanAscNext.call(table), TypeError)
})

test('a closed store is closed, and so is all that came from it', () => {
  const { store, table, sorted } = sample()
  const [cursor, iterators] = [sorted.cursor(), [sorted.entries(), table.entries()]]
  assert.equal(store.closed, false)
  store.close()
  store[Symbol.dispose]()
  assert.equal(store.closed, true)
  const works = [
    () => store.table('t'),
    () => store.tables(),
    () => store.dropTable('t'),
    () => store.memory,
    () => store.memoryLimit,
    () => {
      store.memoryLimit = 1
    },
    () => store.dumpSync(),
    () => table.insert('a', 'b'),
    () => table.insertMany([]),
    () => table.select('a'),
    () => table.selectMany([]),
    () => table.increment('a'),
    () => table.incrementMany([]),
    () => table.compareAndSwap('a'),
    () => table.alter('a', () => 'b'),
    () => table.clear(),
    () => table.size,
    () => table.memory,
    () => table.entries(),
    () => sorted.scan(),
    () => sorted.cursor(),
    () => cursor.scanAscNext(),
    () => cursor.scanDescNextMany(1),
    ...iterators.map((iterator) => () => iterator.next()),
  ]
  for (const work of works) assert.throws(work, { name: 'TwindexError', code: 'TWINDEX_CLOSED' })
})

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

test('a memory limit holds', () => {
  const store = new Store({ memoryLimit: 50_000 })
  const table = store.table('t')
  assert.equal(store.memoryLimit, 50_000)
  const isRefused = { name: 'TwindexError', code: 'TWINDEX_MEMORY_LIMIT', message: /50000/ }
  assert.throws(() => table.set('a', 'x'.repeat(60_000)), isRefused)
  assert.equal(table.size, 0)
  for (const limit of [null, undefined, 2 ** 40]) {
    store.memoryLimit = limit
    assert.equal(store.memoryLimit, limit ?? undefined)
    table.set('a', 'x'.repeat(60_000))
  }
  assert.ok(store.memory >= 60_000 && table.memory <= store.memory)
})
