// Stores: memory, dumps, files, and their end.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { checkSync, openSync, Store } from 'twindex'

const folder = mkdtempSync(join(tmpdir(), 'twindex-'))
after(() => rmSync(folder, { recursive: true }))

function sample() {
  const store = new Store()
  store.table('users').insertMany([
    ['ada', '1815'],
    ['grace', '1906'],
  ])
  const log = store.table('log', { index: 'sorted', values: 'bytes' })
  for (let i = 0; i < 1000; i++) log.insert(`2026-${String(i).padStart(4, '0')}`, Buffer.alloc(i, i))
  return store
}

function assertSame(store, other) {
  assert.deepEqual(store.tables(), other.tables())
  for (const [name, index] of store.tables()) {
    const options = { index, keys: 'bytes', values: 'bytes' }
    const pairs = ({ table }) => [...table].sort(([a], [b]) => Buffer.compare(a, b))
    assert.deepEqual(
      pairs({ table: store.table(name, options) }),
      pairs({ table: other.table(name, options) }),
    )
  }
}

test('a dump is the whole store', () => {
  const store = sample()
  const dump = store.dumpSync()
  assert.ok(Buffer.isBuffer(dump))
  assertSame(Store.loadSync(dump), store)
  const offset = new Uint8Array(dump.length + 9)
  offset.set(dump, 5)
  assertSame(Store.loadSync(offset.subarray(5, 5 + dump.length)), store)
  const shared = new Uint8Array(new SharedArrayBuffer(dump.length))
  shared.set(dump)
  assertSame(Store.loadSync(new DataView(shared.buffer)), store)
})

test('one signal serves many calls, without a warning of a leak', async () => {
  const warned = []
  const note = (warning) => warned.push(warning)
  process.on('warning', note)
  const [store, aborting] = [sample(), new AbortController()]
  await Promise.all(Array.from({ length: 20 }, () => store.dump({ signal: aborting.signal })))
  const dumps = Array.from({ length: 20 }, () => store.dump({ signal: aborting.signal }))
  aborting.abort(new Error('enough'))
  for (const each of await Promise.allSettled(dumps)) assert.equal(each.reason.message, 'enough')
  await new Promise(setImmediate)
  process.off('warning', note)
  assert.deepEqual(warned, [])
})

test('a compaction that closing ends says so, and ends no process', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'twindex-')), 'compacted.twx')
  for (let round = 0; round < 3; round++) {
    const store = openSync(path)
    store.table('t').upsertMany(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, 'x'.repeat(100)]))
    const compacting = store.compact()
    store.save()
    await store.close()
    const [{ reason }] = await Promise.allSettled([compacting])
    if (reason !== undefined) assert.equal(reason.code, 'TWINDEX_CLOSED')
  }
  rmSync(dirname(path), { recursive: true })
})

test('objects of the package run no setter of a program', () => {
  const names = ['path', 'pid', 'tables', 'report', 'torn', 'position', 'offset', '0']
  const own = mkdtempSync(join(tmpdir(), 'twindex-'))
  const store = openSync(join(own, 'setters.twx'))
  const set = () => {
    store.table('t')
    assert.fail('it ran')
  }
  for (const name of names) Object.defineProperty(Object.prototype, name, { set, configurable: true })
  try {
    assert.deepEqual([store.stats().tables, store.readOnly, checkSync(store.path).damage], [0, false, []])
  } finally {
    for (const name of names) delete Object.prototype[name]
    store.closeSync()
    rmSync(own, { recursive: true })
  }
})

test('options are read once each', () => {
  const reads = {}
  const read = (name, value) => {
    reads[name] = (reads[name] ?? 0) + 1
    return value
  }
  const counted = (options) =>
    Object.defineProperties(
      {},
      Object.fromEntries(
        Object.entries(options).map(([name, value]) => [
          name,
          { enumerable: true, get: () => read(name, value) },
        ]),
      ),
    )
  const store = new Store(counted({ memoryLimit: 1e8 }))
  const table = store.table('s', counted({ index: 'sorted', keys: 'int', values: 'json' }))
  const cache = store.cache('c', counted({ max: 10, ttl: 1000 }))
  cache.upsertMany([['a', 'b']], counted({ ttl: 5 }))
  assert.deepEqual([...table.scan(counted({ gte: 1, lt: 5, reverse: true, limit: 3 }))], [])
  for (const [name, count] of Object.entries(reads)) assert.ok(count <= (name === 'ttl' ? 2 : 1), name)
})

test('a dump is made and loaded while other things go on', async () => {
  const store = sample()
  const dump = await store.dump()
  assert.ok(Buffer.isBuffer(dump))
  const counted = []
  const loading = Store.load(dump, { progress: ({ bytes }) => counted.push(bytes) })
  dump.fill(0)
  const loaded = await loading
  assertSame(loaded, store)
  assert.ok(counted.length > 0 && counted.at(-1) > 100_000)
  const path = join(folder, 'later.twx')
  await store.save(path)
  assertSame(await Store.load(pathToFileURL(path), { progress() {} }), store)
  rmSync(path)
  await assert.rejects(Store.load(path), { code: 'TWINDEX_IO' })
  await assert.rejects(Store.load(Buffer.from('no dump')), { code: 'TWINDEX_CORRUPT' })
  await assert.rejects(Store.load(42), { code: 'TWINDEX_TYPE' })
  await assert.rejects(Store.load(dump, { limit: 1 }), { code: 'TWINDEX_RANGE' })
  await assert.rejects(store.dump({ signal: AbortSignal.abort() }), { name: 'AbortError' })
  store.closeSync()
  await assert.rejects(store.dump(), { code: 'TWINDEX_CLOSED' })
})

test('a store is loaded within a memory limit', async () => {
  const store = new Store()
  const table = store.table('t', { index: 'sorted' })
  for (let at = 0; at < 1000; at++) table.set(`k${at}`, 'x'.repeat(3000))
  const dump = store.dumpSync()
  const path = join(folder, 'limited.twx')
  store.saveSync(path)
  const isTold = { name: 'TwindexError', code: 'TWINDEX_MEMORY_LIMIT' }
  for (const source of [dump, path]) {
    assert.throws(() => Store.loadSync(source, { memoryLimit: 500_000 }), isTold)
    await assert.rejects(Store.load(source, { memoryLimit: 500_000 }), isTold)
    const loaded = Store.loadSync(source, { memoryLimit: 4_000_000 })
    assert.equal(loaded.memoryLimit, 4_000_000)
    assert.equal((await Store.load(source, { memoryLimit: null })).memoryLimit, undefined)
    assert.equal(loaded.table('t', { index: 'sorted' }).size, 1000)
  }
  rmSync(path)
})

test('a file is the whole store', () => {
  const store = sample()
  const path = join(folder, 'größe.twx')
  store.saveSync(path)
  assertSame(Store.loadSync(path), store)
  store.table('users').set('edsger', '1930')
  store.saveSync(pathToFileURL(path))
  assertSame(Store.loadSync(pathToFileURL(path)), store)
  assert.deepEqual(readdirSync(folder), ['größe.twx'])
})

test('bytes that are no dump are refused', () => {
  const dump = sample().dumpSync()
  for (const cut of [0, 1, 15, 16, 100, dump.length - 1]) {
    assert.throws(() => Store.loadSync(dump.subarray(0, cut)), {
      name: 'TwindexError',
      code: 'TWINDEX_CORRUPT',
    })
  }
  const bad = Buffer.from(dump)
  bad[bad.length >> 1] ^= 1
  assert.throws(() => Store.loadSync(bad), { code: 'TWINDEX_CORRUPT', message: /at byte \d+/ })
  const path = join(folder, 'bad.twx')
  writeFileSync(path, bad)
  assert.throws(() => Store.loadSync(path), { code: 'TWINDEX_CORRUPT' })
  rmSync(path)
})

test('a file that cannot be written is an error that names it', () => {
  const path = join(folder, 'none', 'none.twx')
  for (const work of [() => Store.loadSync(path), () => sample().saveSync(path)]) {
    assert.throws(work, { code: 'TWINDEX_IO', message: /none\.twx|none/ })
  }
  assert.throws(() => Store.loadSync('a\0b'), { code: 'TWINDEX_IO' })
  assert.throws(() => Store.loadSync(folder), { code: 'TWINDEX_IO' })
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

test('every use of a closed store is TWINDEX_CLOSED', () => {
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
    () => store.dumpSync(),
    () => store.saveSync(join(folder, 'closed.twx')),
    () => log.insert('a', Buffer.from('b')),
    () => log.insertMany([]),
    () => log.select('a'),
    () => log.selectMany([]),
    () => log.increment('a'),
    () => log.incrementMany([]),
    () => log.compareAndSwap('a'),
    () => log.alter('a', () => Buffer.from('b')),
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
