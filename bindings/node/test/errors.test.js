// Wrong arguments: a clear error with a code, and a store that stays as it was.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cursor, Store, Table, TwindexError } from 'twindex'

const WRONG = [42, 1n, true, null, undefined, Symbol('s'), {}, [], () => {}, Buffer.from('a'), new Date(0)]

const store = new Store()
const table = store.table('t')
const sorted = store.table('s', { index: 'sorted' })
const bytes = store.table('b', { keys: 'bytes', values: 'view' })
for (const each of [table, sorted]) each.insert('a', '1')

const isType = { name: 'TypeError', code: 'TWINDEX_TYPE' }
const isRange = { name: 'RangeError', code: 'TWINDEX_RANGE' }

/** Whether a value that is wrong for most arguments is right for this one. */
const except = (...right) => WRONG.filter((value) => !right.includes(value))

test('a key is of its type', () => {
  for (const wrong of WRONG) {
    for (const verb of ['insert', 'replace', 'upsert', 'set'])
      assert.throws(() => table[verb](wrong, 'x'), isType)
    for (const verb of ['delete', 'select', 'contains', 'get', 'has', 'increment']) {
      assert.throws(() => table[verb](wrong), isType)
    }
    assert.throws(() => table.compareAndSwap(wrong, '1', '2'), isType)
    assert.throws(() => table.alter(wrong, () => 'x'), isType)
    for (const verb of ['deleteMany', 'containsMany', 'selectMany'])
      assert.throws(() => table[verb](['a', wrong]), isType)
    for (const verb of ['insertMany', 'replaceMany', 'upsertMany']) {
      assert.throws(
        () =>
          table[verb]([
            ['a', '2'],
            [wrong, 'x'],
          ]),
        isType,
      )
    }
    assert.throws(
      () =>
        table.incrementMany([
          ['n', 1],
          [wrong, 1],
        ]),
      isType,
    )
    assert.throws(
      () =>
        table.compareAndSwapMany([
          ['a', '1', '2'],
          [wrong, '1', '2'],
        ]),
      isType,
    )
  }
  for (const wrong of ['a', ...except(WRONG[9])])
    assert.throws(() => bytes.insert(wrong, Buffer.from('x')), isType)
})

test('a value is of its type', () => {
  for (const wrong of WRONG) {
    for (const verb of ['insert', 'replace', 'upsert', 'set'])
      assert.throws(() => table[verb]('a', wrong), isType)
    assert.throws(
      () =>
        table.insertMany([
          ['x', 'y'],
          ['z', wrong],
        ]),
      isType,
    )
  }
  for (const wrong of except(null, undefined)) {
    assert.throws(() => table.compareAndSwap('a', wrong, 'x'), isType)
    assert.throws(() => table.compareAndSwap('a', '1', wrong), isType)
    assert.throws(() => table.compareAndSwapMany([['a', '1', wrong]]), isType)
    assert.throws(() => table.alter('a', () => wrong), isType)
    assert.throws(
      () => bytes.compareAndSwap(Buffer.from('a'), wrong === WRONG[9] ? 'a' : wrong, undefined),
      isType,
    )
  }
  for (const wrong of ['a', ...except(WRONG[9])])
    assert.throws(() => bytes.insert(Buffer.from('x'), wrong), isType)
})

test('many are an iterable, and pairs are pairs', () => {
  for (const wrong of [...except(WRONG[7], WRONG[9]), 'text']) {
    for (const verb of [
      'selectMany',
      'containsMany',
      'deleteMany',
      'insertMany',
      'incrementMany',
      'compareAndSwapMany',
    ]) {
      assert.throws(() => table[verb](wrong), isType)
    }
  }
  for (const wrong of [['a'], ['a', 'b', 'c'], 'ab', 42, null, { 0: 'a', 1: 'b' }]) {
    assert.throws(() => table.insertMany([['x', 'y'], wrong]), isType)
  }
  assert.throws(() => table.compareAndSwapMany([['a', '1']]), isType)
  const broken = (function* () {
    yield ['x', 'y']
    throw new Error('broken')
  })()
  assert.throws(() => table.insertMany(broken), /broken/)
})

test('options are known, of their type, and in no conflict', () => {
  for (const wrong of except(undefined, WRONG[6], WRONG[7], WRONG[9], WRONG[10])) {
    assert.throws(() => new Store(wrong), isType)
    assert.throws(() => store.table('x', wrong), isType)
    assert.throws(() => sorted.scan(wrong), isType)
    assert.throws(() => sorted.cursor(wrong), isType)
  }
  for (const wrong of except(undefined)) {
    assert.throws(() => new Store({ shared: wrong }), isType)
    assert.throws(() => store.table('x', { index: wrong }), isType)
    assert.throws(() => store.table('x', { keys: wrong }), isType)
    assert.throws(() => store.table('x', { values: wrong }), isType)
    for (const end of ['gt', 'gte', 'lt', 'lte', 'prefix']) {
      assert.throws(() => sorted.scan({ [end]: wrong }), isType)
      assert.throws(() => sorted.cursor({ [end]: wrong }), isType)
    }
  }
  for (const wrong of except(undefined, true)) assert.throws(() => sorted.scan({ reverse: wrong }), isType)
  for (const wrong of except(undefined, 42)) assert.throws(() => sorted.scan({ limit: wrong }), isType)
  for (const wrong of except(undefined, null, 42)) {
    assert.throws(() => new Store({ memoryLimit: wrong }), isType)
    assert.throws(() => {
      store.memoryLimit = wrong
    }, isType)
  }
  assert.throws(() => store.table('x', { index: 'btree' }), {
    code: 'TWINDEX_UNKNOWN_INDEX',
    message: /"btree"/,
  })
  assert.throws(() => store.table('x', { keys: 'json' }), {
    ...isRange,
    message: /'json'.*bytes, str, int, tuple/,
  })
  assert.throws(() => store.table('x', { values: 'toString' }), isRange)
  assert.throws(() => store.table('x', { order: 'asc' }), {
    ...isRange,
    message: /'order'.*index, keys, values/,
  })
  assert.throws(() => new Store({ limit: 1 }), isRange)
  assert.throws(() => new Store({ shared: '' }), isRange)
  for (const bad of [
    { gt: 'a', gte: 'a' },
    { lt: 'a', lte: 'a' },
    { prefix: 'a', gt: 'a' },
    { prefix: '', lte: 'a' },
    { from: 'a' },
  ]) {
    assert.throws(() => sorted.scan(bad), isRange)
    assert.throws(() => sorted.cursor(bad), isRange)
  }
  for (const bad of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => sorted.scan({ limit: bad }), isRange)
    assert.throws(() => sorted.cursor().scanAscNextMany(bad), isRange)
    assert.throws(() => new Store({ memoryLimit: bad }), isRange)
  }
  assert.throws(() => sorted.cursor({ limit: 1 }), isRange)
})

test('names, paths and callbacks are of their type', () => {
  for (const wrong of WRONG) {
    assert.throws(() => store.table(wrong), isType)
    assert.throws(() => store.dropTable(wrong), isType)
    assert.throws(() => store.saveSync(wrong ?? null), isType)
  }
  for (const wrong of except(WRONG[9])) assert.throws(() => Store.loadSync(wrong), isType)
  for (const wrong of except(WRONG[8])) {
    assert.throws(() => table.alter('a', wrong), isType)
    assert.throws(() => table.forEach(wrong), isType)
  }
  for (const name of ['', 'x'.repeat(256)])
    assert.throws(() => store.table(name), { code: 'TWINDEX_TABLE_NAME' })
})

test('a hash table has no order', () => {
  assert.throws(() => table.cursor(), { name: 'TwindexError', code: 'TWINDEX_WRONG_INDEX' })
  assert.throws(() => table.scan(), { code: 'TWINDEX_WRONG_INDEX' })
  assert.throws(() => store.table('t', { index: 'sorted' }), { code: 'TWINDEX_WRONG_INDEX' })
})

test('an error names what was wrong', () => {
  assert.throws(() => table.insert(42, 'x'), { message: 'a key of this table is a string, not 42' })
  assert.throws(() => table.insert('x', undefined), {
    message: 'a value of this table is a string, not undefined',
  })
  assert.throws(() => bytes.insert('x'.repeat(100), Buffer.from('')), {
    message: /a Uint8Array .*, not 'x{40}'\.\.\. 60 more/,
  })
  assert.throws(
    () => table.insert('k'.repeat(65_536), ''),
    (error) => {
      assert.ok(error instanceof TwindexError)
      assert.ok(error instanceof Error)
      assert.equal(error.name, 'TwindexError')
      assert.equal(error.code, 'TWINDEX_KEY_TOO_LONG')
      assert.match(error.message, /65536.*65535.*kkk/)
      assert.match(error.stack, /errors\.test\.js/)
      return true
    },
  )
  const hostile = {
    [Symbol.for('nodejs.util.inspect.custom')]: () => assert.fail('it ran'),
    toString: () => assert.fail('it ran'),
  }
  assert.throws(() => table.insert(hostile, 'x'), isType)
  const proxy = new Proxy(
    {},
    { get: () => assert.fail('it ran'), getPrototypeOf: () => assert.fail('it ran') },
  )
  assert.throws(() => table.insert(proxy, 'x'), isType)
})

test('only the store makes tables, and only a table makes cursors', () => {
  assert.throws(() => new Table(), { ...isType, message: /store\.table/ })
  assert.throws(() => new Cursor(), { ...isType, message: /table\.cursor/ })
  assert.throws(() => Store(), TypeError)
  assert.throws(() => Table.prototype.insert.call({}, 'a', 'b'), TypeError)
  assert.throws(() => Table.prototype.insert.call(store, 'a', 'b'), TypeError)
  assert.throws(() => Cursor.prototype.scanAscNext.call(table), TypeError)
})

test('a store is not cloned', () => {
  for (const each of [store, table, table.entries(), sorted.cursor(), new Store().cache('c', { max: 1 })]) {
    assert.throws(() => structuredClone(each), {
      name: 'DataCloneError',
      message: /new Store\(\{ shared: 'name' \}\)/,
    })
  }
})

test('after all that the store is as it was', () => {
  assert.deepEqual(store.tables(), [
    ['b', 'hash'],
    ['s', 'sorted'],
    ['t', 'hash'],
  ])
  assert.deepEqual([...table], [['a', '1']])
  assert.deepEqual([...sorted], [['a', '1']])
  assert.equal(bytes.size, 0)
})
