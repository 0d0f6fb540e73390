// Stores in files, as far as Node has a part in it: options and reports, promises, signals and progress, threads, and how a process
// ends. `durable` tests the file's contents.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { check, checkSync, open, openSync, recover, recoverSync, Store } from 'twindex'
import { native } from '../lib/native.js'
import { code, folder, heard, here, newPath, start, thread } from './helpers.js'

const read = (path) => Store.loadSync(path).table('t')

test('what was written is in the file, by a path or a URL, as the codecs say', async () => {
  const path = newPath()
  const store = openSync(path)
  const log = store.table('log', { index: 'sorted', keys: 'int', values: 'json' })
  log.set(2, [2]).set(1, [1])
  assert.ok(log.alter(2, (found) => [...found, 4]))
  await store.close()
  const again = await open(pathToFileURL(path), { existing: true })
  assert.deepEqual(again.tables(), [['log', 'sorted']])
  const logged = again.table('log', { index: 'sorted', keys: 'bigint' })
  assert.deepEqual(new Map(logged), new Map().set(1n, [1]).set(2n, [2, 4]))
  again.closeSync()
})

test('a batch is committed once, by commit or by the end of what fills it', () => {
  const store = openSync(newPath())
  const accounts = store.table('accounts', { values: 'int' })
  const log = store.table('log', { index: 'sorted', keys: 'tuple', values: 'json' })
  const batch = store.batch().expect(accounts, 'ada', undefined)
  batch.insert(accounts, 'ada', 100).upsert(accounts, 'bob', 0).insert(log, [2026, 11], ['opened', 2])
  assert.deepEqual([batch.size, accounts.size + log.size], [3, 0])
  assert.deepEqual(batch.commit(), [true, true, true])
  for (const use of [() => batch.commit(), () => batch.set(accounts, 'x', 1)])
    assert.throws(use, code('CLOSED', { message: /ended/ }))
  assert.equal(batch.size, 0)
  const took = store.batch((writes) => {
    writes.replace(accounts, 'ada', 90).replace(accounts, 'carol', 1).delete(accounts, 'bob')
    writes.increment(accounts, 'eve').increment(accounts, 'eve', -8n)
  })
  assert.deepEqual(took, [true, false, true, true, true])
  const fail = (writes) => {
    writes.set(accounts, 'ada', 1)
    throw new RangeError('mine')
  }
  const unexpected = store.batch().expect(log, [2026, 11], ['opened', 2]).expect(accounts, 'ada', 99)
  for (const [work, error] of [
    [() => store.batch(fail), /mine/],
    [
      () => store.batch((writes) => writes.set(accounts, 'eve', 1).commit()),
      code('RANGE', { message: /commits the batch itself/ }),
    ],
    [() => unexpected.delete(log, [2026, 11]).commit(), code('UNEXPECTED', { message: /expectation 1/ })],
    [() => store.batch().set(new Store().table('t'), 'a', '1'), code('FOREIGN_TABLE')],
    [() => store.batch().increment(accounts, 'ada', 1.5), code('TYPE')],
    [() => store.batch().expect(accounts, 'ada', '1'), code('TYPE')],
    ...[null, 1, 'users', {}, store].flatMap((wrong) => [
      [() => store.batch().set(wrong, 'a', '1'), code('TYPE')],
      [() => store.batch(wrong), code('TYPE')],
    ]),
  ])
    assert.throws(work, error)
  assert.deepEqual([new Map(accounts), log.size], [new Map().set('ada', 90).set('eve', -7), 1])
  store.closeSync()
  assert.throws(() => store.batch(), code('CLOSED'))
})

test('a batch is freed as it ends, since nothing is collected while a program only computes', () => {
  const table = new Store().table('t')
  const { freeBatch } = native
  const freed = []
  native.freeBatch = (number) => {
    freed.push(number)
    freeBatch(number)
  }
  try {
    for (let round = 0; round < 3; round++) table.store.batch((batch) => batch.set(table, 'a', '1'))
    table.store.batch().set(table, 'b', '2').commit()
    assert.throws(() => table.store.batch(async () => {}), code('TYPE'))
  } finally {
    native.freeBatch = freeBatch
  }
  assert.deepEqual([freed.length, new Set(freed).size, table.size], [5, 1, 2])
})

test('a batch is not filled by who is waited for', async () => {
  // It was committed at the first `await`, and what followed was an error that nobody saw.
  const store = new Store()
  const table = store.table('t')
  const seen = []
  const fill = async (batch) => {
    batch.set(table, 'a', '1')
    await null
    try {
      batch.set(table, 'b', '2')
    } catch (error) {
      seen.push(error.code)
      throw error
    }
  }
  assert.throws(() => store.batch(fill), code('TYPE', { message: /to wait for/ }))
  const generator = function* (batch) {
    yield batch.set(table, 'a', '1')
  }
  assert.throws(() => store.batch(generator), code('TYPE', { message: /generator/ }))
  await new Promise(setImmediate)
  assert.deepEqual([table.size, seen], [0, ['TWINDEX_CLOSED']])
})

test('a store tells of itself and of its file', async () => {
  const describe = ({ path, durability, readOnly, torn }) => [path, durability, readOnly, torn]
  const path = newPath()
  const store = openSync(path)
  assert.deepEqual(describe(store), [path, 'everysec', false, undefined])
  store.table('t').set('a', '1')
  await store.flush()
  const { lastSync, logBytes, dumpBytes, syncs, memory, ...rest } = store.stats()
  assert.ok(logBytes > 0 && dumpBytes > 0 && syncs > 0 && memory > 0)
  assert.ok(lastSync instanceof Date && Math.abs(Date.now() - lastSync) < 600_000)
  const none = ['unsyncedFor', 'refreshed', 'compactionError', 'logError', 'followError']
  const zero = ['unsyncedBytes', 'compactions', 'behindBytes', 'snapshots', 'keptBytes', 'transactions']
  assert.deepEqual(rest, {
    ...Object.fromEntries(none.map((name) => [name, undefined])),
    ...Object.fromEntries(zero.map((name) => [name, 0])),
    ...{ tables: 1, pairs: 1, compacting: false, position: store.position },
  })
  await store.compact()
  assert.equal(store.stats().compactions, 1)
  await store.close()
  assert.equal(store.path, path)
  assert.throws(() => store.stats(), code('CLOSED'))
  const inMemory = new Store()
  assert.deepEqual(describe(inMemory), [undefined, 'none', false, undefined])
  await inMemory.flush()
  assert.equal(inMemory.stats().lastSync, undefined)
  await assert.rejects(inMemory.save(), code('NO_FILE'))
  assert.throws(() => inMemory.saveSync(), code('NO_FILE'))
})

test('using and await using close a store', async () => {
  const path = newPath()
  const store = openSync(path, { durability: 'none' })
  store.table('t').set('a', '1')
  store[Symbol.dispose]()
  const again = openSync(path)
  again.table('t').set('b', '2')
  await again[Symbol.asyncDispose]()
  await again.close()
  again.closeSync()
  assert.equal(read(path).size, 2)
})

test('a second open in a thread is the same store, of the same durability', async () => {
  const path = newPath()
  const [first, second] = [openSync(path), await open(path, { memoryLimit: 1 << 24 })]
  first.table('t').set('a', '1')
  assert.equal(second.table('t').get('a'), '1')
  assert.equal(first.memoryLimit, 1 << 24)
  const isInUse = code('IN_USE', {
    name: 'TwindexError',
    path,
    pid: process.pid,
    message: /"everysec".*"always"/,
  })
  assert.throws(() => openSync(path, { durability: 'always' }), isInUse)
  await first.close()
  assert.ok(second.table('t').insert('b', '2'))
  await second.close()
  const always = openSync(path, { durability: 'always' })
  assert.deepEqual([...always.table('t').values()].sort(), ['1', '2'])
  always.closeSync()
})

test('a worker that is ended while it writes lets go of the file, and leaves no half of a batch', async () => {
  const path = newPath()
  for (let round = 0; round < 3; round++) {
    const worker = thread('file', { path, durability: 'none', from: 0, to: 100, forever: true })
    await heard(worker)
    const store = openSync(path, { durability: 'none' })
    const table = store.table('t', { index: 'sorted' })
    while (!table.has('two')) await new Promise(setImmediate)
    await worker.terminate()
    assert.equal(table.get('one'), table.get('two'))
    table.clear()
    store.closeSync()
    // Now it is free to be opened.
    openSync(path, { durability: 'always' }).closeSync()
  }
})

test('a file in use names the process that has it', async () => {
  const path = newPath()
  const child = start([here('./children/holder.js'), path])
  await once(child.stdout, 'data')
  const isInUse = code('IN_USE', {
    pid: child.pid,
    path,
    message: new RegExp(`in use by process ${child.pid}`),
  })
  assert.throws(() => openSync(path), isInUse)
  await assert.rejects(open(path), isInUse)
  const reader = openSync(path, { readOnly: true })
  assert.throws(() => reader.table('new'), code('READ_ONLY', { path }))
  await assert.rejects(reader.save(), code('READ_ONLY'))
  reader.closeSync()
  child.stdin.end()
  await once(child, 'exit')
  openSync(path).closeSync()
})

for (const end of ['exit', 'throw', 'open', 'closed']) {
  test(`a process that ends loses nothing that it wrote (${end})`, async () => {
    const path = newPath()
    const stdio = ['ignore', 'pipe', end === 'throw' ? 'ignore' : 'pipe']
    const child = start([here('./children/writer.js'), path, end], { stdio })
    let last = -1
    for await (const line of createInterface(child.stdout)) last = Number(line)
    const store = openSync(path)
    const table = store.table('t', { keys: 'int', values: 'int' })
    assert.ok(last > 0 && table.size === last + 1, `${table.size} after ${last}`)
    await store.close()
  })
}

test('a missing file or wrong path is an error that names it', async () => {
  const path = newPath()
  for (const options of [{ existing: true }, { readOnly: true }]) {
    assert.throws(() => openSync(path, options), code('IO', { path, message: /\.twx/ }))
    await assert.rejects(open(path, options), code('IO', { path }))
  }
  assert.throws(() => openSync(join(path, 'none.twx')), code('IO'))
  for (const wrong of [undefined, null, 1, {}, Buffer.from(path), new URL('https://example.org/')]) {
    assert.throws(() => openSync(wrong), code('TYPE'))
    await assert.rejects(open(wrong), code('TYPE'))
  }
  assert.throws(
    () => openSync(path, { durability: 'daily' }),
    code('UNKNOWN_DURABILITY', { message: /"daily"/ }),
  )
  assert.throws(() => openSync(path, { progress() {} }), code('RANGE'))
  for (const options of [
    { durability: 1 },
    { readOnly: 'yes' },
    { existing: 0 },
    { memoryLimit: '1' },
    null,
    7,
  ])
    assert.throws(() => openSync(path, options), code('TYPE'))
  assert.equal(existsSync(path), false)
})

test('a report names what is damaged and what is torn, and a limit holds', async () => {
  const path = newPath()
  const store = openSync(path)
  const table = store.table('t', { index: 'sorted' })
  for (let number = 100; number < 200; number++) table.set(String(number), 'x'.repeat(100))
  await store.compact()
  const end = store.stats().dumpBytes + store.stats().logBytes
  table.set('last', 'y'.repeat(1000))
  await store.close()
  const whole = readFileSync(path)

  writeFileSync(path, whole.subarray(0, end + 50))
  assert.deepEqual((await check(path)).damage, [])
  assert.deepEqual(checkSync(path), await check(path))
  const torn = openSync(path)
  assert.ok(torn.torn.bytes > 0 && torn.torn.offset > 0)
  await torn.close()

  const damaged = Buffer.from(whole)
  damaged[end >> 1] ^= 1
  writeFileSync(path, damaged)
  const isCorrupt = (error) => {
    assert.ok(error.code === 'TWINDEX_CORRUPT' && error.path === path && error.offset > 0)
    return /damaged at byte/.test(error.message)
  }
  assert.throws(() => openSync(path), isCorrupt)
  await assert.rejects(open(path), isCorrupt)
  const report = await check(path, { memoryLimit: 1 << 24 })
  const [{ offset, bytes, what }] = report.damage
  assert.ok(offset > 0 && bytes > 0 && what.length > 0)
  assert.ok(report.version === 1 && report.bytes === whole.length && report.records > 0)

  const [saved, again] = [newPath(), newPath()]
  const recovery = await recover(path, saved)
  assert.deepEqual(recovery.report, report)
  assert.ok(recovery.tables.length > 0 && recovery.tables.every(({ pairs }) => pairs >= 0))
  assert.deepEqual(recoverSync(path, again), recovery)
  assert.deepEqual(checkSync(again).damage, [])
  await assert.rejects(recover(path, saved), code('IO'))
  assert.throws(() => recoverSync(path, saved), code('IO'))
  assert.throws(() => checkSync(newPath()), code('IO'))

  const [few, large] = [{ memoryLimit: 1000 }, newPath()]
  const limited = openSync(large)
  limited.table('t').set('k', 'x'.repeat(4 << 20))
  limited.closeSync()
  await assert.rejects(check(large, few), code('MEMORY_LIMIT'))
  assert.throws(() => recoverSync(large, newPath(), few), code('MEMORY_LIMIT'))
  for (const memoryLimit of [-1, 1.5, NaN]) await assert.rejects(check(path, { memoryLimit }), code('RANGE'))
})

test('a signal ends the waiting, and progress is told', async () => {
  const path = newPath()
  const store = openSync(path, { durability: 'none' })
  const table = store.table('t', { index: 'sorted' })
  const pairs = 50_000
  table.upsertMany(Array.from({ length: pairs }, (_, at) => [String(at), `${at}`.repeat(3)]))
  const reason = new Error('enough')
  const isReason = (error) => error === reason
  const signal = AbortSignal.abort(reason)
  for (const work of [
    () => store.save(undefined, { signal }),
    () => store.save(newPath(), { signal }),
    () => store.flush({ signal }),
    () => store.compact({ signal }),
    () => store.close({ signal }),
    () => open(path, { signal }),
    () => check(path, { signal }),
    () => recover(path, newPath(), { signal }),
  ])
    await assert.rejects(work, isReason)
  assert.equal(store.closed, false)
  assert.equal(statSync(path).size, 0)

  const told = []
  await store.save(undefined, { progress: (progress) => told.push(progress) })
  assert.equal(told.at(-1).pairs, pairs)
  assert.ok(told.at(-1).bytes > 0)
  await store.close({ signal: new AbortController().signal })

  const abort = new AbortController()
  const opening = open(path, { signal: abort.signal })
  abort.abort()
  await assert.rejects(opening, { name: 'AbortError' })
  // What was opened all the same is let go, else this one would be refused.
  for (let again; again === undefined; ) {
    try {
      again = openSync(path, { durability: 'always' })
      again.closeSync()
    } catch (error) {
      assert.equal(error.code, 'TWINDEX_IN_USE')
      await new Promise(setImmediate)
    }
  }

  // The open that was aborted may begin so late that another one of this file finds it open, with nothing to load.
  const copy = newPath()
  copyFileSync(path, copy)
  const counted = []
  const loaded = await open(copy, { progress: ({ pairs }) => counted.push(pairs) })
  assert.equal(counted.at(-1), pairs)
  await loaded.close()
  const progress = () => {
    throw reason
  }
  await assert.rejects(check(path, { progress }), isReason)
  for (const options of [{ signal: 1 }, { progress: 1 }, { signal: {} }])
    await assert.rejects(check(path, options), code('TYPE'))
  await assert.rejects(check(path, { until: 1 }), code('RANGE'))
})

test('a promise rejects also where making its error fails', async () => {
  const { captureStackTrace } = Error
  Error.captureStackTrace = () => {
    throw new Error('of the program')
  }
  try {
    await assert.rejects(check(join(folder, 'missing.twx')), /of the program/)
  } finally {
    Error.captureStackTrace = captureStackTrace
  }
})

test('the thread goes on while another one works for it', async () => {
  const store = openSync(newPath(), { durability: 'none' })
  store.table('t').upsertMany(Array.from({ length: 100_000 }, (_, at) => [String(at), 'x'.repeat(50)]))
  let turns = 0
  let isSaved = false
  const saving = store.save().then(() => {
    isSaved = true
  })
  while (!isSaved) {
    turns++
    await new Promise(setImmediate)
  }
  await saving
  assert.ok(turns > 1, `${turns} turns`)
  await store.close()
})

test('a store that cannot be closed stays open, and can be saved elsewhere', async () => {
  // A failed `close` closed the store all the same, so that all that it held was lost.
  for (const close of [(store) => store.close(), async (store) => store.closeSync()]) {
    const within = newPath()
    mkdirSync(within)
    const path = join(within, 'app.twx')
    const store = openSync(path, { durability: 'none' })
    const table = store.table('t', { index: 'sorted' }).set('a', '1')
    const cursor = table.cursor()
    rmSync(within, { recursive: true })
    await assert.rejects(close(store), code('IO'))
    assert.equal(store.closed, false)
    assert.deepEqual([table.get('a'), cursor.scanAscNext()], ['1', ['a', '1']])
    const rescued = newPath()
    await store.save(rescued)
    mkdirSync(within)
    await store.close()
    assert.throws(() => table.get('a'), code('CLOSED'))
    for (const name of [rescued, path])
      assert.deepEqual([...Store.loadSync(name).table('t', { index: 'sorted' })], [['a', '1']])
  }
})

test('a compaction that closing ends says so, and ends no process', async () => {
  for (let round = 0; round < 3; round++) {
    const store = openSync(newPath())
    store.table('t').upsertMany(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, 'x'.repeat(100)]))
    const compacting = store.compact()
    store.save()
    await store.close()
    const [{ reason }] = await Promise.allSettled([compacting])
    if (reason !== undefined) assert.equal(reason.code, 'TWINDEX_CLOSED')
  }
})

test('a file that Python wrote is read without naming codecs', async () => {
  const golden = (name) => here(`../../../conformance/golden/version-1-python.${name}`)
  const lines = readFileSync(golden('jsonl'), 'utf8').trimEnd().split('\n').map(JSON.parse)
  for (const store of [await open(golden('twx'), { readOnly: true }), await Store.load(golden('twx'))]) {
    let table
    for (const { table: name, index, keys, values, key, value } of lines) {
      if (index === undefined) assert.deepEqual(table.get(key), value)
      else {
        table = store.table(name, { index })
        assert.deepEqual(table.codecs, { keys, values })
      }
    }
    const pairs = store.tables().reduce((sum, [name, index]) => sum + store.table(name, { index }).size, 0)
    assert.equal(pairs, lines.filter(({ index }) => index === undefined).length)
    await store.close()
  }
})
