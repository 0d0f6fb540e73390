// Stores: memory, dumps, files, and their end.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Store } from 'twindex'

const folder = mkdtempSync(join(tmpdir(), 'twindex-'))
after(() => rmSync(folder, { recursive: true }))

function sample() {
  const store = new Store()
  store.table('users').insertMany([
    ['ada', '1815'],
    ['grace', '1906'],
  ])
  const log = store.table('log', { index: 'sorted', values: 'buffer' })
  for (let i = 0; i < 1000; i++) log.insert(`2026-${String(i).padStart(4, '0')}`, Buffer.alloc(i, i))
  return store
}

function assertSame(store, other) {
  assert.deepEqual(store.tables(), other.tables())
  for (const [name, index] of store.tables()) {
    const options = { index, keys: 'buffer', values: 'buffer' }
    const pairs = ({ table }) => [...table].sort(([a], [b]) => Buffer.compare(a, b))
    assert.deepEqual(
      pairs({ table: store.table(name, options) }),
      pairs({ table: other.table(name, options) }),
    )
  }
}

test('a dump is the whole store', () => {
  const store = sample()
  const dump = store.dump()
  assert.ok(Buffer.isBuffer(dump))
  assertSame(Store.load(dump), store)
  const offset = new Uint8Array(dump.length + 9)
  offset.set(dump, 5)
  assertSame(Store.load(offset.subarray(5, 5 + dump.length)), store)
  const shared = new Uint8Array(new SharedArrayBuffer(dump.length))
  shared.set(dump)
  assertSame(Store.load(new DataView(shared.buffer)), store)
})

test('a file is the whole store', () => {
  const store = sample()
  const path = join(folder, 'größe.twx')
  store.saveSync(path)
  assertSame(Store.load(path), store)
  store.table('users').set('edsger', '1930')
  store.saveSync(pathToFileURL(path))
  assertSame(Store.load(pathToFileURL(path)), store)
  assert.deepEqual(readdirSync(folder), ['größe.twx'])
})

test('what is no dump is refused', () => {
  const dump = sample().dump()
  for (const cut of [0, 1, 15, 16, 100, dump.length - 1]) {
    assert.throws(() => Store.load(dump.subarray(0, cut)), { name: 'TwindexError', code: 'TWINDEX_CORRUPT' })
  }
  const bad = Buffer.from(dump)
  bad[bad.length >> 1] ^= 1
  assert.throws(() => Store.load(bad), { code: 'TWINDEX_CORRUPT', message: /at byte \d+/ })
  const path = join(folder, 'bad.twx')
  writeFileSync(path, bad)
  assert.throws(() => Store.load(path), { code: 'TWINDEX_CORRUPT' })
  rmSync(path)
})

test('a file that cannot be is an error that names it', () => {
  const path = join(folder, 'none', 'none.twx')
  for (const work of [() => Store.load(path), () => sample().saveSync(path)]) {
    assert.throws(work, { code: 'TWINDEX_IO', message: /none\.twx|none/ })
  }
  assert.throws(() => Store.load('a\0b'), { code: 'TWINDEX_IO' })
  assert.throws(() => Store.load(folder), { code: 'TWINDEX_IO' })
})

test('a memory limit holds', () => {
  const store = new Store({ memoryLimit: 100_000 })
  const table = store.table('t')
  assert.equal(store.memoryLimit, 100_000)
  const fill = () => {
    for (let i = 0; ; i++) table.insert(`key-${i}`, 'x'.repeat(100))
  }
  assert.throws(fill, { name: 'TwindexError', code: 'TWINDEX_MEMORY_LIMIT', message: /100000/ })
  assert.ok(store.memory <= 100_000)
  assert.ok(table.memory <= store.memory)
  const { size } = table
  assert.throws(() => table.set('another', 'x'.repeat(100_000)), { code: 'TWINDEX_MEMORY_LIMIT' })
  assert.equal(table.size, size)
  assert.equal(table.has('another'), false)
  store.memoryLimit = undefined
  assert.equal(store.memoryLimit, undefined)
  table.set('another', 'x'.repeat(100_000))
  store.memoryLimit = null
  assert.equal(store.memoryLimit, undefined)
  table.clear()
  assert.ok(store.memory < 100_000)
})

test('a closed store is closed', () => {
  const store = sample()
  const log = store.table('log', { index: 'sorted' })
  const [cursor, iterator] = [log.cursor(), log.entries()]
  assert.equal(store.closed, false)
  store.closeSync()
  assert.equal(store.closed, true)
  store.closeSync()
  const works = [
    () => store.table('users'),
    () => store.tables(),
    () => store.dropTable('users'),
    () => store.memory,
    () => store.memoryLimit,
    () => {
      store.memoryLimit = 1
    },
    () => store.dump(),
    () => store.saveSync(join(folder, 'closed.twx')),
    () => log.insert('a', 'b'),
    () => log.insertMany([]),
    () => log.select('a'),
    () => log.selectMany([]),
    () => log.increment('a'),
    () => log.incrementMany([]),
    () => log.compareAndSwap('a'),
    () => log.alter('a', () => 'b'),
    () => log.clear(),
    () => log.size,
    () => log.memory,
    () => log.entries(),
    () => log.scan(),
    () => log.cursor(),
    () => cursor.scanAscNext(),
    () => cursor.scanAscNextMany(1),
    () => iterator.next(),
  ]
  for (const work of works) assert.throws(work, { name: 'TwindexError', code: 'TWINDEX_CLOSED' })
  assert.equal(log.name, 'log')
  assert.deepEqual(
    readdirSync(folder).filter((file) => file.startsWith('closed')),
    [],
  )
})

test('a store closes itself where it is disposed of', () => {
  const store = new Store()
  store[Symbol.dispose]()
  assert.ok(store.closed)
})

test('a handle that was closed never means another table', () => {
  const stores = Array.from({ length: 50 }, () => new Store())
  const tables = stores.map((store) => store.table('t'))
  for (const store of stores) store.closeSync()
  const others = Array.from({ length: 50 }, () => new Store().table('t').set('a', 'b'))
  for (const table of tables) assert.throws(() => table.get('a'), { code: 'TWINDEX_CLOSED' })
  for (const table of others) assert.equal(table.get('a'), 'b')
})
