// Stores: memory, dumps, options, and their end.
import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Cache, checkSync, openSync, Store } from 'twindex'
import { code, folder, newPath } from './helpers.js'

function sample() {
  const store = new Store()
  store.table('users').set('ada', '1815').set('grace', '1906')
  const log = store.table('log', { index: 'sorted', values: 'bytes' })
  for (let i = 0; i < 1000; i++) log.insert(`2026-${String(i).padStart(4, '0')}`, Buffer.alloc(i, i))
  return store
}

/** All pairs of all tables, as bytes. */
function contentOf(store) {
  return store.tables().map(([name, index]) => {
    const table = store.table(name, { index, keys: 'bytes', values: 'bytes' })
    return [name, index, [...table].sort(([a], [b]) => Buffer.compare(a, b))]
  })
}

const assertSame = (store, other) => assert.deepEqual(contentOf(store), contentOf(other))

test('a dump or a file is the whole store, as any view or path, at once or later', async () => {
  const store = sample()
  const dump = store.dumpSync()
  assert.ok(Buffer.isBuffer(dump) && Buffer.isBuffer(await store.dump()))
  const offset = new Uint8Array(dump.length + 9)
  offset.set(dump, 5)
  const shared = new Uint8Array(new SharedArrayBuffer(dump.length))
  shared.set(dump)
  const path = join(folder, 'größe.twx')
  store.saveSync(path)
  await store.save(pathToFileURL(path))
  const sources = [
    dump,
    offset.subarray(5, 5 + dump.length),
    new DataView(shared.buffer),
    path,
    pathToFileURL(path),
  ]
  for (const source of sources) {
    assertSame(Store.loadSync(source), store)
    assertSame(await Store.load(source, { progress() {} }), store)
  }
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('größe')),
    ['größe.twx'],
  )
  const counted = []
  const loading = Store.load(dump, { progress: ({ bytes }) => counted.push(bytes) })
  dump.fill(0)
  assertSame(await loading, store)
  assert.ok(counted.at(-1) > 100_000)
  store.closeSync()
  await assert.rejects(store.dump(), code('CLOSED'))
})

test('what is no dump, and a file that cannot be read or written, are errors that name it', async () => {
  const dump = sample().dumpSync()
  const bad = Buffer.from(dump)
  bad[bad.length >> 1] ^= 1
  const path = newPath()
  writeFileSync(path, bad)
  const missing = join(folder, 'none', 'none.twx')
  for (const [source, error] of [
    [dump.subarray(0, 0), code('CORRUPT', { name: 'TwindexError' })],
    [dump.subarray(0, dump.length - 1), code('CORRUPT')],
    [Buffer.from('no dump'), code('CORRUPT')],
    [bad, code('CORRUPT', { message: /at byte \d+/ })],
    [path, code('CORRUPT')],
    [missing, code('IO', { message: /none\.twx/ })],
    ['a\0b', code('IO')],
    [folder, code('IO')],
    [42, code('TYPE')],
  ]) {
    assert.throws(() => Store.loadSync(source), error)
    await assert.rejects(Store.load(source), error)
  }
  assert.throws(() => sample().saveSync(missing), code('IO', { message: /none/ }))
  await assert.rejects(Store.load(dump, { limit: 1 }), code('RANGE'))
  await assert.rejects(sample().dump({ signal: AbortSignal.abort() }), { name: 'AbortError' })
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

test('objects of the package run no setter of a program', () => {
  const names = ['path', 'pid', 'tables', 'report', 'torn', 'position', 'offset', '0']
  const store = openSync(newPath())
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
  }
})

test('options are read once each', () => {
  const reads = {}
  const counted = (options) => {
    const getters = Object.entries(options).map(([name, value]) => {
      const get = () => {
        reads[name] = (reads[name] ?? 0) + 1
        return value
      }
      return [name, { enumerable: true, get }]
    })
    return Object.defineProperties({}, Object.fromEntries(getters))
  }
  const store = new Store(counted({ memoryLimit: 1e8 }))
  const table = store.table('s', counted({ index: 'sorted', keys: 'int', values: 'json' }))
  const cache = new Cache(counted({ max: 10, ttl: 1000 }))
  cache.upsertMany([['a', 'b']], counted({ ttl: 5 }))
  assert.deepEqual([...table.scan(counted({ gte: 1, lt: 5, reverse: true, limit: 3 }))], [])
  for (const [name, count] of Object.entries(reads)) assert.ok(count <= (name === 'ttl' ? 2 : 1), name)
})

test('a memory limit holds for loads', async () => {
  const store = new Store()
  store.table('t').set('a', 'x'.repeat(4_000_000))
  const [dump, path] = [store.dumpSync(), newPath()]
  store.saveSync(path)
  for (const source of [dump, path]) {
    const small = { memoryLimit: 500_000 }
    assert.throws(() => Store.loadSync(source, small), code('MEMORY_LIMIT', { name: 'TwindexError' }))
    await assert.rejects(Store.load(source, small), code('MEMORY_LIMIT'))
    assert.equal(Store.loadSync(source, { memoryLimit: 2e7 }).memoryLimit, 2e7)
    assert.equal((await Store.load(source, { memoryLimit: null })).memoryLimit, undefined)
  }
})

test('a handle that was closed never means another table', () => {
  const stores = Array.from({ length: 50 }, () => new Store())
  const tables = stores.map((store) => store.table('t'))
  for (const store of stores) store.closeSync()
  const others = Array.from({ length: 50 }, () => new Store().table('t').set('a', 'b'))
  for (const table of tables) assert.throws(() => table.get('a'), code('CLOSED'))
  for (const table of others) assert.equal(table.get('a'), 'b')
})

test('progress tells of its own work alone', async () => {
  const dump = sample().dumpSync()
  const told = []
  const load = (at) => {
    const progress = ({ bytes }) => {
      told[at] = bytes
    }
    return Store.load(dump, { progress })
  }
  await load(0)
  await Promise.all([load(1), ...Array.from({ length: 9 }, () => Store.load(dump))])
  assert.equal(told[1], told[0])
})
