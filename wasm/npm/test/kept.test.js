// Stores that are kept as files, over a place in memory; test/browser has them in a browser.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { load } from 'twindex-wasm'
import { randomFrom } from '../../../bindings/node/test/numbers.js'
import { casesByIndex, Runner } from '../../../conformance/vectors.js'
import { PrivateFiles } from '../src/browser/storage.js'
import {
  checkKept,
  exportKept,
  importKept,
  isKept,
  openKept,
  recoverKept,
  renameKept,
} from '../src/browser/store.js'
import { instantiate } from '../src/loader.js'
import { Place } from './place.js'

const twindex = await load()
const { Store } = twindex

const module = await WebAssembly.compile(readFileSync(new URL('../twindex.files.wasm', import.meta.url)))
const core = () => instantiate(module)

async function open(place, options) {
  return openKept(await core(), place, {
    durability: 'none',
    readOnly: false,
    lock: { close() {}, release: () => place.released++ },
    ...options,
  })
}

/** Everything in a store. */
const all = (store) =>
  store.tables().map(([name, index]) => {
    const table = store.table(name, { index, keys: 'view', values: 'view' })
    return [
      name,
      index,
      [...table].map((pair) => pair.map((bytes) => Buffer.from(bytes).toString('hex'))).sort(),
    ]
  })

/** The pairs of a store's table, as an object. */
const pairsOf = (store, name = 't') => Object.fromEntries(store.table(name))
/** Those of a place that nobody has open. */
const kept = async (place) => pairsOf(await open(place, { readOnly: true }))

/** A place with a store that was closed, whose table `t` has these pairs. */
async function placeWith(pairs) {
  const place = new Place()
  const store = await open(place)
  store.table('t').upsertMany(Object.entries(pairs))
  await store.close()
  return place
}

/** The same files in a place of their own. */
const copyOf = (files) => Object.assign(new Place(), { files: new Map(files) })

const cases = [...casesByIndex(['memory_limit', 'reload', 'load'])]
for (const [at, [{ name, steps }, index]] of cases.entries()) {
  const durability = ['none', 'everysec', 'always'][at % 3]
  test(`the file has what the store has: ${name} (${index ?? 'none'}, ${durability})`, async () => {
    const place = Object.assign(new Place(), { isPrompt: at % 2 === 0 })
    const store = await open(place, { durability })
    const runner = new Runner(store, 'view', twindex)
    if (index !== undefined) await runner.open('t', index)
    for (const step of steps) await runner.check(step)
    if (!store.closed) assert.deepEqual(all(Store.loadSync(place.newest)), all(store))
    await store.close()
  })
}

test('what was written before and after a compaction is there again, of many tables, with their codecs', async () => {
  const place = new Place()
  const store = await open(place)
  const write = (from, to) => {
    for (let at = from; at < to; at++) store.table(`table ${at}`).set('k', `${at}`)
  }
  write(0, 30)
  store.table('first', { keys: 'int', values: 'json' }).set(1, { a: null })
  await store.compact()
  write(30, 60)
  store.dropTable('table 1')
  store.table('table 2').clear()
  store.table('second', { index: 'sorted', keys: 'tuple' }).set(['ada', 1], 'x')
  const expected = all(store)
  await store.close()
  const again = await open(place)
  assert.deepEqual(all(again), expected)
  assert.equal(again.torn, undefined)
  assert.deepEqual([...again.table('first')], [[1, { a: null }]])
  assert.deepEqual([...again.table('second', { index: 'sorted' })], [[['ada', 1], 'x']])
  assert.throws(() => again.table('first', { keys: 'str' }), { code: 'TWINDEX_WRONG_CODEC' })
})

test('handles keep their tables across compaction, drop and reopening', async () => {
  const place = new Place()
  let store = await open(place)
  const below = randomFrom(7)
  const random = () => below(2 ** 20) / 2 ** 20
  /** The table of each name, by its newest and its older handles, and its pairs. */
  const handles = new Map()
  const model = new Map()
  const pick = (list) => list[below(list.length)]
  for (let step = 0; step < 400; step++) {
    const name = pick(['a', 'b', 'c', 'd', 'e'])
    const chance = random()
    if (chance < 0.05) await Promise.all([store.compact(), store.compact()].slice(0, pick([1, 2])))
    else if (chance < 0.08) {
      await store.close()
      store = await open(place)
      handles.clear()
    } else if (chance < 0.15) {
      assert.equal(store.dropTable(name), model.delete(name))
    } else if (chance < 0.3 || !handles.has(name)) {
      if (!model.has(name)) model.set(name, new Map())
      handles.set(name, [...(handles.get(name) ?? []), [store.table(name), model.get(name)]])
    } else {
      const [table, pairs] = pick(handles.get(name))
      const [key, value] = [pick(['x', 'y', 'z']), `${step}`]
      const isDropped = model.get(name) !== pairs
      if (isDropped) {
        const dropped = { code: 'TWINDEX_TABLE_DROPPED' }
        assert.throws(() => table.set(key, value), dropped)
        assert.throws(() => table.upsertMany([[key, value]]), dropped)
        continue
      }
      if (random() < 0.8) pairs.set(key, value)
      else pairs.delete(key)
      if (pairs.has(key)) table.upsertMany([[key, value]])
      else table.delete(key)
    }
    const expected = [...model].map(([name, pairs]) => [name, [...pairs].sort()]).sort()
    const found = Store.loadSync(place.newest)
    const inFile = found.tables().map(([name]) => [name, [...found.table(name)].sort()])
    assert.deepEqual(inFile, expected, `step ${step}`)
  }
})

test('cut or damaged, a file opens as the store at some moment, or stays as it is; writes are whole', async () => {
  const place = new Place()
  const store = await open(place)
  const states = []
  const note = () => states.push(all(store))
  const table = store.table('t')
  const other = store.table('other', { index: 'sorted' })
  const start = place.bytes.length
  note()
  for (let batch = 0; batch < 3; batch++) {
    table.insertMany([0, 1, 2].map((at) => [`${batch} ${at}`, 'value']))
    note()
    store.transaction((tx) => {
      tx.table('other').set(`${batch}`, 'value').delete('none')
      tx.table('t').insertMany([0, 1].map((at) => [`${batch} in ${at}`, 'value']))
    })
    note()
  }
  other.deleteRange({ gte: '1' })
  note()
  const whole = place.bytes
  for (let end = start; end <= whole.length; end++) {
    const found = await open(copyOf([[1, whole.slice(0, end)]]))
    assert.ok(states.some((state) => isDeepStrictEqual(state, all(found))))
    assert.equal((found.torn?.offset ?? end) + (found.torn?.bytes ?? 0), end)
  }
  await store.close()
  const synced = place.bytes
  const damaged = [...synced.keys()].map((at) => synced.with(at, synced[at] ^ (1 << (at % 8))))
  for (const [at, bytes] of [...damaged, new Uint8Array(99), Buffer.from('{"not": "ours"}')].entries()) {
    const files = copyOf([[1, bytes]])
    try {
      const found = await open(files, { readOnly: at % 16 === 0 })
      assert.ok(states.some((state) => isDeepStrictEqual(state, all(found))))
    } catch (error) {
      assert.equal(error.code, 'TWINDEX_CORRUPT', error.stack)
      assert.deepEqual(files.bytes, bytes)
    }
  }
})

test('a file whose dump was never finished gives way to the one before', async () => {
  const place = await placeWith({ a: 'b' })
  const [[number, whole]] = place.files
  for (const unfinished of [whole.slice(0, 30), whole.slice(0, 7), new Uint8Array(0), new Uint8Array(99)]) {
    place.files = new Map([
      [number, whole],
      [number + 1, unfinished],
    ])
    assert.deepEqual(await kept(place), { a: 'b' })
    const again = await open(place)
    assert.deepEqual(pairsOf(again), { a: 'b' })
    await again.close()
    assert.equal(place.files.size, 1)
    // One that may have more than the file before is no such file.
    for (const damaged of [whole.with(3, 0), whole.with(30, 0), Buffer.from('{"not": "ours"}')]) {
      const files = new Map([
        [number, whole],
        [number + 1, damaged],
      ])
      place.files = new Map(files)
      await assert.rejects(open(place), { code: 'TWINDEX_CORRUPT' })
      assert.deepEqual(place.files, files)
    }
  }
})

test('a store for reading alone refuses every write', async () => {
  const place = new Place()
  const store = await open(place)
  store.table('t').set('a', '1')
  const before = place.bytes
  const reader = await open(place, { readOnly: true })
  const table = reader.table('t')
  const refused = { code: 'TWINDEX_READ_ONLY' }
  const writes = [
    () => table.insert('b', 'x'),
    () => table.delete('a'),
    () => table.take('a'),
    () => reader.transaction((tx) => tx.table('t').set('a', '2')),
    () => table.clear(),
    () => reader.dropTable('t'),
    () => reader.table('other'),
  ]
  for (const write of writes) assert.throws(write, refused)
  await assert.rejects(reader.compact(), refused)
  assert.equal(table.get('a'), '1')
  await reader.close()
  assert.deepEqual(place.bytes, before)
})

test('a store is opened without writing its file anew, and goes on in it', async () => {
  const place = await placeWith({ a: '1' })
  const before = place.bytes
  const again = await open(place)
  assert.deepEqual(place.bytes, before)
  again.table('t').set('b', '2')
  assert.deepEqual(place.bytes.subarray(0, before.length), before)
  await again.close()
  assert.deepEqual(all(Store.loadSync(place.bytes)), all(await open(place, { readOnly: true })))
})

test('a store whose file cannot be opened for writing goes on in another file', async () => {
  const place = await placeWith({ a: '1' })
  const [number] = place.files.keys()
  const again = copyOf(place.files)
  again.open = (which, end) =>
    which === number ? Promise.reject(new Error('in use')) : Place.prototype.open.call(again, which, end)
  const store = await open(again)
  store.table('t').set('b', '2')
  assert.deepEqual([...again.files.keys()], [number + 1])
  assert.deepEqual(await kept(again), { a: '1', b: '2' })
})

test('a file that has grown far beyond what is in it is compacted', async () => {
  const place = new Place()
  const store = await open(place)
  const table = store.table('t', { values: 'bytes' })
  const value = new Uint8Array(1 << 20).fill(7)
  for (let write = 0; write < 8; write++) {
    table.set('a', value)
    await new Promise(setImmediate)
  }
  await store.close()
  assert.ok(place.bytes.length < 7 << 20, `${place.bytes.length} bytes`)
  assert.equal((await open(place, { readOnly: true })).table('t').get('a').length, value.length)
})

test('once writing has failed, also to flush with always, every write says so, and reads go on', async () => {
  for (const [fails, durability, message] of [
    ['fails', 'none', /no space is left/],
    ['failsToFlush', 'always', /the disk is gone/],
  ]) {
    const place = new Place()
    const store = await open(place, { durability })
    const table = store.table('t').set('a', '1')
    place[fails] = true
    const failed = { code: 'TWINDEX_LOG_FAILED', message }
    assert.throws(() => table.set('b', '2'), failed)
    place[fails] = false
    assert.throws(() => table.set('c', '3'), failed)
    await assert.rejects(store.flush(), failed)
    assert.equal(table.get('a'), '1')
    assert.throws(() => store.closeSync(), failed)
    assert.deepEqual([place.opened, place.released], [0, 1])
  }
})

test('what was synced is damage where it is not whole, and nothing else in the log', async () => {
  const place = new Place()
  const store = await open(place)
  const at = (key) => Buffer.from(place.bytes).indexOf(key)
  store.table('t').set('synced', '1')
  await store.flush()
  store.table('t').set('unsynced', '2')
  store.table('t').set('after', '3')
  const whole = place.bytes
  const damaged = (key) => whole.with(at(key), 0)
  await assert.rejects(open(copyOf([[1, damaged('synced')]])), { code: 'TWINDEX_CORRUPT' })
  assert.deepEqual(await kept(copyOf([[1, damaged('unsynced')]])), { synced: '1' })
  assert.deepEqual(await kept(copyOf([[1, whole]])), { synced: '1', unsynced: '2', after: '3' })
})

test('closeSync and using close the file and give the lock up at once', async () => {
  const place = new Place()
  for (let round = 1; round <= 2; round++) {
    const store = await open(place)
    store.table('t').set('a', `${round}`)
    if (round === 1) store.closeSync()
    else store[Symbol.dispose ?? Symbol.for('Symbol.dispose')]()
    assert.deepEqual([place.opened, place.released], [0, round])
  }
  place.isPrompt = false
  const store = await open(place)
  const closing = store.close()
  assert.equal(place.released, 2)
  await closing
  await store.close()
  assert.equal(place.released, 3)
})

test('stores made beside a kept store are not kept', async () => {
  const place = new Place()
  const store = await open(place)
  const before = place.bytes
  const other = new store.constructor()
  other.table('t').set('a', '1')
  other.closeSync()
  assert.deepEqual(place.bytes, before)
  store.table('t').set('b', '2')
  await store.close()
  assert.deepEqual(await kept(place), { b: '2' })
})

test('a file is opened within a memory limit', async () => {
  const place = new Place()
  const store = await open(place)
  for (let at = 0; at < 1000; at++) store.table('t').set(`k${at}`, 'x'.repeat(4000))
  await store.close()
  await assert.rejects(open(place, { memoryLimit: 500_000 }), { code: 'TWINDEX_MEMORY_LIMIT' })
  assert.equal((await open(place, { memoryLimit: 5_000_000 })).memoryLimit, 5_000_000)
})

test('an expiring table of a file from Node keeps its times here, and its removals are in the file', async () => {
  const file = readFileSync(new URL('../../../conformance/golden/version-1-expiring.twx', import.meta.url))
  const place = new Place()
  await importKept(await core(), place, file, {})
  const store = await open(place)
  const table = store.table('sessions')
  const watch = table.watch()
  assert.deepEqual(Object.fromEntries(table), { ada: { born: 1815 }, bob: null })
  assert.ok(table.ttl('ada') > 800 * 365 * 86_400_000)
  assert.equal(table.ttl('bob'), Number.POSITIVE_INFINITY)
  table.set('new', 1, { ttl: 3_600_000 })
  assert.equal(table.removeExpired(), 1)
  assert.equal(watch.poll().key, 'new')
  assert.deepEqual(watch.poll(), { table: 'sessions', kind: 'delete', key: 'old' })
  await store.compact()
  table.set('bob', 2)
  assert.equal(watch.poll().value, 2)
  await store.close()
  const again = (await open(place)).table('sessions', { expires: true })
  assert.deepEqual([again.size, again.get('bob'), again.ttl('new') > 3_590_000], [3, 2, true])
  const pages = await load(new URL('../twindex.wasm', import.meta.url))
  const page = pages.Store.loadSync(place.bytes)
  assert.throws(() => page.table('sessions'), { code: 'TWINDEX_NOT_SUPPORTED', message: /expire/ })
  assert.throws(() => page.table('t', { expires: true }), { code: 'TWINDEX_NOT_SUPPORTED' })
})

test('a damaged store is checked, and saved under another name', async () => {
  const other = new Place()
  const place = await placeWith(Object.fromEntries(Array.from({ length: 100 }, (_, key) => [key, 'v'])))
  assert.deepEqual((await checkKept(await core(), place)).damage, [])
  const whole = place.bytes
  place.bytes = whole.with(whole.length - 3, whole.at(-3) ^ 1)
  const torn = await checkKept(await core(), place)
  assert.deepEqual([torn.damage, torn.torn.offset], [[], whole.length - 20])
  // Before good records it is damage. The store was opened empty then, and what was left of the old one removed.
  place.bytes = whole.with(60, whole[60] ^ 1)
  await assert.rejects(open(place), { code: 'TWINDEX_CORRUPT' })
  const { damage } = await checkKept(await core(), place)
  assert.equal(damage.length, 1)
  const { report, tables } = await recoverKept(await core(), place, other)
  assert.deepEqual(report.damage, damage)
  assert.deepEqual(tables, [{ name: 'recovered 0', index: 'sorted', pairs: 100 }])
  assert.deepEqual((await open(other)).tables(), [['recovered 0', 'sorted']])
  await assert.rejects(recoverKept(await core(), place, other), { code: 'TWINDEX_IO' })
  await assert.rejects(checkKept(await core(), new Place()), { code: 'TWINDEX_IO' })
})

test('a store that was recovered or dumped opens, and goes on in a file of its own', async () => {
  const [damaged, place] = [await placeWith({ a: '1' }), new Place()]
  await recoverKept(await core(), damaged, place)
  for (const bytes of [place.bytes, Store.loadSync(damaged.bytes).dumpSync()]) {
    place.files = new Map([[1, bytes]])
    const found = await open(place)
    assert.equal(found.torn, undefined)
    found.table('t').set('b', '2')
    await found.close()
    assert.deepEqual(await kept(place), { a: '1', b: '2' })
    // It has no other file to go back to: without room for one, it stays as it is.
    place.files = new Map([[1, bytes]])
    place.fails = true
    await assert.rejects(open(place), { code: 'TWINDEX_LOG_FAILED' })
    place.fails = false
    assert.deepEqual([place.bytes, place.opened], [bytes, 0])
  }
})

test('a compaction that fails leaves no file, and the store goes on in the one before', async () => {
  for (const isPrompt of [true, false]) {
    for (const step of ['create', 'append', 'flush']) {
      const place = new Place()
      place.isPrompt = isPrompt
      const store = await open(place, { durability: 'everysec' })
      const table = store.table('t').set('a', '1')
      place.failing = step
      if (isPrompt && step === 'flush') {
        // The new file may be whole, so the store cannot go back to the old one.
        await assert.rejects(store.compact(), { code: 'TWINDEX_LOG_FAILED' })
        place.failing = undefined
        assert.throws(() => table.set('b', '2'), { code: 'TWINDEX_LOG_FAILED' })
        await assert.rejects(store.close(), { code: 'TWINDEX_LOG_FAILED' })
        assert.deepEqual(await kept(place), { a: '1' })
        continue
      }
      await assert.rejects(store.compact(), { code: 'TWINDEX_IO', message: /no space is left/ }, step)
      place.failing = undefined
      assert.deepEqual([place.files.size, place.opened], [1, 1], step)
      table.set('b', '2')
      await store.compact()
      place.failing = step
      await assert.rejects(store.compact(), { code: 'TWINDEX_IO' }, step)
      place.failing = undefined
      table.set('c', '3')
      await store.close()
      assert.deepEqual([place.files.size, place.opened, place.released], [1, 0, 1], step)
      assert.deepEqual(await kept(place), { a: '1', b: '2', c: '3' })
    }
  }
  // A write that came between is in the new file alone.
  const place = new Place()
  place.isPrompt = false
  const store = await open(place)
  const table = store.table('t').set('a', '1')
  const compacting = store.compact()
  place.failing = 'flush'
  place.appended = () => {
    place.appended = undefined
    setImmediate(() => table.set('b', '2'))
  }
  const failed = { code: 'TWINDEX_LOG_FAILED', message: /no space is left/ }
  await assert.rejects(compacting, failed)
  assert.throws(() => table.set('c', '3'), failed)
  await assert.rejects(store.close(), failed)
  assert.deepEqual([place.files.size, place.opened, place.released], [1, 0, 1])
  assert.deepEqual(await kept(place), { a: '1' })
})

test('every close of a store ends when the first one does, in the same way', async () => {
  for (const failsToFlush of [false, true]) {
    const place = new Place()
    place.isPrompt = false
    const store = await open(place)
    store.table('t').set('a', '1')
    place.failsToFlush = failsToFlush
    const closes = await Promise.allSettled([store.close(), store.close()])
    const [first, second] = closes
    assert.equal(first.status, failsToFlush ? 'rejected' : 'fulfilled')
    assert.deepEqual([first.reason?.code, place.opened], [failsToFlush ? 'TWINDEX_LOG_FAILED' : undefined, 0])
    assert.deepEqual(second, first)
    assert.equal(place.released, 1)
  }
})

test('check and recover read again where a compaction takes the file away', async () => {
  const place = await placeWith({ a: '1' })
  const [[number, bytes]] = place.files
  let reads = 0
  place.read = (which) => {
    reads++
    if (reads > 1) return Promise.resolve(bytes.slice())
    place.files = new Map([[number + 1, bytes]])
    return Promise.reject(new DOMException(`no file ${which}`, 'NotFoundError'))
  }
  assert.deepEqual((await checkKept(await core(), place)).damage, [])
  reads = 0
  const other = new Place()
  await recoverKept(await core(), place, other)
  assert.deepEqual(await kept(other), { a: '1' })
})

/** Makes a folder the origin's private file system. */
const useFolder = (folder) =>
  Object.defineProperty(globalThis, 'navigator', {
    configurable: true,
    value: { storage: { getDirectory: async () => folder } },
  })

test('a private file refuses a write that the disk took in part, without an error of its own', async () => {
  for (const written of [0, -8, 2 ** 32 - 8, Number.NaN, undefined, 4]) {
    const handle = { truncate() {}, flush() {}, close() {}, getSize: () => 2, write: () => written }
    useFolder({ getFileHandle: async () => ({ createSyncAccessHandle: async () => handle }) })
    const file = await new PrivateFiles('app').create(1)
    if (written === 4) {
      file.append(new Uint8Array(4))
      assert.throws(() => file.flush(), /has 2 bytes of the 4/)
    } else assert.throws(() => file.append(new Uint8Array(4)), /no room/)
  }
})

test('a removal that stops at any file leaves the sign, or the newest file', async () => {
  for (const numbers of [
    [0, 1],
    [1, 0, 2],
    [3, 1, 2],
  ]) {
    for (let stop = 0; stop < numbers.length; stop++) {
      const left = new Set(numbers)
      let removed = 0
      useFolder({
        entries: async function* () {
          for (const number of left) yield [`app.${number}.twx`, { kind: 'file' }]
        },
        removeEntry: async (name) => {
          if (removed++ === stop) throw new DOMException('a tab has it', 'NoModificationAllowedError')
          left.delete(Number(name.split('.')[1]))
        },
      })
      await assert.rejects(new PrivateFiles('app').destroy(), { name: 'NoModificationAllowedError' })
      assert.ok(left.has(numbers.includes(0) ? 0 : Math.max(...numbers)), `${[...left]} of ${numbers}`)
    }
  }
})

test('a private file that cannot be read is an error, also where a reader comes again', async () => {
  const unreadable = { arrayBuffer: () => Promise.reject(new DOMException('busy', 'NotReadableError')) }
  useFolder({ getFileHandle: async () => ({ getFile: async () => unreadable }) })
  await assert.rejects(new PrivateFiles('app').read(1), { name: 'NotReadableError' })
})

test('a store whose first file goes while it is looked for is none', async () => {
  const place = new Place()
  for (const number of [0, 1]) place.files.set(number, new Uint8Array(0))
  place.read = async () => {
    await place.destroy()
    throw new DOMException('it was removed', 'NotFoundError')
  }
  assert.equal(await isKept(place, core), false)
})

test('a tab that ends before its first file is whole leaves a name that opens as new', async () => {
  const first = new Place()
  const states = []
  const note = () => states.push(new Map(first.files))
  for (const verb of ['create', 'remove']) {
    const work = Place.prototype[verb]
    first[verb] = async (number) => {
      note()
      const done = await work.call(first, number)
      note()
      return done
    }
  }
  first.appended = note
  const store = await open(first)
  await store.close()
  note()
  const signed = states.filter((files) => files.has(0))
  assert.ok(signed.length > 3)
  for (const state of states) {
    const place = copyOf(state)
    if (!(state.get(1)?.length > 0))
      await assert.rejects(checkKept(await core(), place), { code: 'TWINDEX_IO' })
    const found = await open(place)
    found.table('t').set('a', '1')
    await found.close()
    assert.equal(place.files.has(0), false)
    assert.deepEqual(await kept(place), { a: '1' })
  }
  // Without the sign, such a file is what is left of a store.
  const place = copyOf([[1, new Uint8Array(0)]])
  await assert.rejects(open(place), { code: 'TWINDEX_CORRUPT' })
  await assert.rejects(checkKept(await core(), place), { code: 'TWINDEX_CORRUPT' })
})

test("a closed store never touches its files again, which may be another tab's", async () => {
  const place = new Place()
  const store = await open(place)
  store.table('t').set('a', '1')
  await store.close()
  const other = await open(place)
  other.table('t').set('b', '2')
  await other.compact()
  const before = new Map(place.files)
  for (const method of ['compact', 'flush']) {
    await assert.rejects(store[method](), { code: 'TWINDEX_CLOSED' })
    assert.deepEqual(place.files, before)
  }
  const late = other.compact()
  const [closed, refused] = await Promise.allSettled([other.close(), other.compact(), late])
  assert.deepEqual([closed.status, refused.reason?.code], ['fulfilled', 'TWINDEX_CLOSED'])
  assert.deepEqual(await kept(place), { a: '1', b: '2' })
})

test('a recovery or a new name for which there is no room leaves nothing behind', async () => {
  const [place, to] = [await placeWith({ a: '1' }), new Place()]
  const ways = [
    async () => recoverKept(await core(), place, to),
    async () => renameKept(await core(), place, to),
  ]
  for (const way of ways) {
    for (const step of ['create', 'append', 'flush']) {
      to.failing = step
      await assert.rejects(way(), { code: 'TWINDEX_IO', message: /no space is left/ })
      assert.deepEqual([to.files.size, to.opened, place.files.size], [0, 0, 1], step)
    }
    to.failing = undefined
    await way()
    assert.deepEqual(await kept(to), { a: '1' })
    to.files.clear()
  }
})

test('a store that went back to its old file never finds the new one whole', async () => {
  for (const isPrompt of [true, false]) {
    for (const step of ['append', 'flush']) {
      const place = new Place()
      place.isPrompt = isPrompt
      const store = await open(place)
      const table = store.table('t').set('a', '1')
      place.failing = step
      // The tab ends before it has removed the new file.
      place.remove = () => new Promise(() => {})
      store.compact().catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 20))
      place.failing = undefined
      try {
        table.set('b', '2')
        await store.flush()
      } catch (error) {
        assert.equal(error.code, 'TWINDEX_LOG_FAILED')
        continue
      }
      assert.deepEqual(await kept(copyOf(place.files)), { a: '1', b: '2' }, step)
    }
  }
})

test('a name that was begun and never finished is free in every call', async () => {
  const [begun, source] = [new Place(), await placeWith({ a: '1' })]
  const sign = [0, new Uint8Array(0)]
  for (const files of [[sign], [sign, [1, source.bytes.slice(0, 40)]]]) {
    const reset = () => {
      begun.files = new Map(files)
      return core()
    }
    await reset()
    assert.equal(await isKept(begun, core), false)
    await assert.rejects(checkKept(await reset(), begun), { code: 'TWINDEX_IO' })
    await assert.rejects(renameKept(await reset(), begun, new Place()), { code: 'TWINDEX_IO' })
    await recoverKept(await reset(), source, begun)
    assert.deepEqual(await kept(begun), { a: '1' })
    await reset()
    assert.equal((await open(begun)).table('t').size, 0)
  }
  // The sign alone says nothing where a whole file is.
  begun.files = new Map([sign, [1, source.bytes]])
  assert.equal(await isKept(begun, core), true)
  assert.equal((await open(begun)).table('t').size, 1)
  assert.equal(begun.files.has(0), false)
})

test('a file goes out of a store and into another, or is refused', async () => {
  const place = new Place()
  const store = await open(place)
  store.table('t').set('a', '1')
  const file = await exportKept(await core(), place)
  const to = new Place()
  await importKept(await core(), to, Buffer.concat([file, Buffer.from('torn')]), {})
  assert.deepEqual(to.bytes, file)
  assert.deepEqual(all(await open(to)), all(store))
  await assert.rejects(importKept(await core(), to, file, {}), { code: 'TWINDEX_IO' })
  store.table('big').set('k', 'x'.repeat(8 << 20))
  const big = await exportKept(await core(), place)
  for (const [bytes, options, code] of [
    [file.with(40, file[40] ^ 1), {}, 'TWINDEX_CORRUPT'],
    [file.slice(0, 20), {}, 'TWINDEX_CORRUPT'],
    [Buffer.from('a picture'), {}, 'TWINDEX_CORRUPT'],
    [big, { memoryLimit: 1 << 20 }, 'TWINDEX_MEMORY_LIMIT'],
  ]) {
    const empty = new Place()
    await assert.rejects(importKept(await core(), empty, bytes, options), { code })
    assert.equal(empty.files.size, 0)
  }
})
