// Stores in files: durability, batches, promises, locks, damage, and what a process leaves that ends in any way.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { check, checkSync, open, openSync, recover, recoverSync, Store } from 'twindex'
import { start } from './processes.js'

const ALL = ['none', 'everysec', 'always']
const folder = mkdtempSync(join(tmpdir(), 'twindex-files-'))
after(() => rmSync(folder, { recursive: true }))

let files = 0
const newPath = () => join(folder, `${++files}.twx`)
const here = (name) => fileURLToPath(new URL(name, import.meta.url))

for (const durability of ALL) {
  test(`what was written is there again (${durability})`, async () => {
    const path = newPath()
    const store = openSync(path, { durability })
    const users = store.table('users')
    users.set('ada', '1815').set('bob', '1900')
    assert.ok(users.insert('carol', '2000') && users.replace('carol', '2001') && users.delete('bob'))
    const log = store.table('log', { index: 'sorted', keys: 'int', values: 'json' })
    assert.deepEqual(
      log.insertMany([
        [2, [2]],
        [1, [1]],
      ]),
      [true, true],
    )
    assert.ok(log.compareAndSwap(1, [1], [3]) && log.alter(2, (found) => [...found, 4]))
    assert.equal(store.table('hits').increment('/', 5), 5)
    await store.close()
    assert.ok(store.closed)
    const again = await open(pathToFileURL(path), { durability, existing: true })
    assert.deepEqual(again.tables(), [
      ['hits', 'hash'],
      ['log', 'sorted'],
      ['users', 'hash'],
    ])
    assert.deepEqual(new Map(again.table('users')), new Map(Object.entries({ ada: '1815', carol: '2001' })))
    assert.deepEqual(
      [...again.table('log', { index: 'sorted', keys: 'bigint', values: 'json' })],
      [
        [1n, [3]],
        [2n, [2, 4]],
      ],
    )
    again.dropTable('hits')
    again.table('users').clear()
    again.closeSync()
    const reader = openSync(path, { readOnly: true })
    assert.deepEqual(
      reader.tables().map(([name]) => name),
      ['log', 'users'],
    )
    assert.equal(reader.table('users').size, 0)
    reader.closeSync()
  })

  test(`a batch is done whole (${durability})`, async () => {
    const path = newPath()
    const store = openSync(path, { durability })
    const accounts = store.table('accounts', { values: 'int' })
    const log = store.table('log', { index: 'sorted', keys: 'tuple', values: 'json' })
    const batch = store.batch()
    batch.insert(accounts, 'ada', 100).upsert(accounts, 'bob', 0).insert(log, [2026, 11], ['opened', 2])
    assert.equal(batch.size, 3)
    assert.equal(accounts.size + log.size, 0)
    assert.deepEqual(batch.commit(), [true, true, true])
    assert.deepEqual(
      [...log],
      [
        [
          [2026, 11],
          ['opened', 2],
        ],
      ],
    )
    assert.throws(() => batch.commit(), { code: 'TWINDEX_CLOSED', message: /ended/ })
    assert.throws(() => batch.set(accounts, 'x', 1), { code: 'TWINDEX_CLOSED', message: /ended/ })
    assert.equal(batch.size, 0)
    const took = store.batch((writes) => {
      writes.replace(accounts, 'ada', 90).replace(accounts, 'carol', 1).delete(accounts, 'bob')
    })
    assert.deepEqual(took, [true, false, true])
    assert.throws(
      () =>
        store.batch((writes) => {
          writes.set(accounts, 'ada', 1)
          throw new RangeError('no')
        }),
      /no/,
    )
    const isEarly = { code: 'TWINDEX_RANGE', message: /commits the batch itself/ }
    assert.throws(() => store.batch((writes) => writes.set(accounts, 'eve', 1).commit()), isEarly)
    await store.close()
    assert.throws(() => store.batch(), { code: 'TWINDEX_CLOSED' })
    const again = openSync(path)
    assert.deepEqual([...again.table('accounts', { values: 'int' })], [['ada', 90]])
    again.closeSync()
  })
}

test('money is moved between accounts by several threads, and not made', async () => {
  for (const path of [undefined, newPath()]) {
    const shared = 'accounts of all threads'
    const store = path === undefined ? new Store({ shared }) : openSync(path)
    const accounts = store.table('accounts', { values: 'int' })
    for (let number = 0; number < 5; number++) accounts.set(`account ${number}`, 100)
    const workers = Array.from(
      { length: 3 },
      () => new Worker(here('./workers/payer.js'), { workerData: { path, shared, payments: 300 } }),
    )
    // Afterwards the sum is what it was.
    const ends = await Promise.all(workers.map((worker) => once(worker, 'exit')))
    assert.deepEqual(ends, [[0], [0], [0]])
    const amounts = [...accounts.values()]
    assert.equal(
      amounts.reduce((sum, amount) => sum + amount),
      500,
    )
    assert.ok(amounts.every((amount) => amount >= 0))
    assert.ok(amounts.some((amount) => amount !== 100))
    await store.close()
  }
})

test('a batch is done only if what it expects is so', async () => {
  for (const store of [new Store(), openSync(newPath())]) {
    const accounts = store.table('accounts', { values: 'int' })
    const names = store.table('names', { index: 'sorted' })
    const batch = store.batch()
    batch.expect(accounts, 'ada', undefined).insert(accounts, 'ada', 100)
    batch.increment(accounts, 'bob').increment(accounts, 'bob', -8n)
    batch.expect(names, 'ada', names.select('ada')).upsert(names, 'ada', 'Ada')
    assert.equal(batch.size, 4)
    assert.deepEqual(batch.commit(), [true, true, true, true])
    const refused = store.batch().expect(names, 'ada', 'Ada').expect(accounts, 'ada', 99).delete(names, 'ada')
    assert.throws(
      () => refused.commit(),
      (error) => error.code === 'TWINDEX_UNEXPECTED' && /expectation 1/.test(error.message),
    )
    assert.throws(() => store.batch().increment(accounts, 'ada', 1.5), { code: 'TWINDEX_TYPE' })
    assert.throws(() => store.batch().increment(names, 'ada').commit(), { code: 'TWINDEX_NOT_AN_INTEGER' })
    assert.throws(() => store.batch().expect(names, 'ada', 1), { code: 'TWINDEX_TYPE' })
    assert.deepEqual([...accounts].sort(), [
      ['ada', 100],
      ['bob', -7],
    ])
    assert.deepEqual([...names], [['ada', 'Ada']])
    await store.close()
  }
})

test('a batch that fails changes nothing', () => {
  const store = new Store({ memoryLimit: 4_000_000 })
  const table = store.table('t', { values: 'view' })
  table.set('a', Buffer.from('1'))
  const batch = store.batch().set(table, 'a', Buffer.from('2')).set(table, 'b', Buffer.alloc(8_000_000))
  assert.throws(() => batch.commit(), { code: 'TWINDEX_MEMORY_LIMIT' })
  assert.equal(table.size, 1)
  assert.deepEqual(Buffer.from(table.get('a')), Buffer.from('1'))
  const other = new Store().table('t')
  assert.throws(() => store.batch().set(other, 'a', '1'), { code: 'TWINDEX_FOREIGN_TABLE' })
  for (const wrong of [undefined, null, 1, 'users', {}, store]) {
    assert.throws(() => store.batch().set(wrong, 'a', '1'), { code: 'TWINDEX_TYPE' })
    if (wrong !== undefined) assert.throws(() => store.batch(wrong), { code: 'TWINDEX_TYPE' })
  }
})

test('a store tells of itself and of its file', async () => {
  const path = newPath()
  const store = openSync(path)
  assert.deepEqual(
    [store.path, store.durability, store.readOnly, store.torn],
    [path, 'everysec', false, undefined],
  )
  store.table('t').set('a', '1')
  await store.flush()
  const stats = store.stats()
  assert.equal(stats.tables, 1)
  assert.equal(stats.pairs, 1)
  assert.equal(stats.unsyncedBytes, 0)
  assert.equal(stats.unsyncedFor, undefined)
  assert.ok(stats.logBytes > 0 && stats.syncs > 0 && stats.memory > 0)
  assert.ok(stats.lastSync instanceof Date && Math.abs(Date.now() - stats.lastSync) < 600_000)
  assert.deepEqual([stats.compacting, stats.compactionError, stats.logError], [false, undefined, undefined])
  await store.compact()
  assert.equal(store.stats().compactions, 1)
  assert.ok(store.stats().logBytes < stats.logBytes)
  await store.close()
  assert.equal(store.path, path)
  assert.throws(() => store.stats(), { code: 'TWINDEX_CLOSED' })
  const memory = new Store()
  assert.deepEqual(
    [memory.path, memory.durability, memory.readOnly, memory.torn],
    [undefined, 'none', false, undefined],
  )
  await memory.flush()
  assert.equal(memory.stats().lastSync, undefined)
  await assert.rejects(memory.save(), { code: 'TWINDEX_NO_FILE' })
  assert.throws(() => memory.saveSync(), { code: 'TWINDEX_NO_FILE' })
})

test('a store without durability is saved on request', async () => {
  const path = newPath()
  const store = openSync(path, { durability: 'none' })
  const table = store.table('t')
  table.set('a', '1')
  assert.equal(statSync(path).size, 0, 'an empty file keeps its place')
  await store.save()
  assert.equal(Store.loadSync(path).table('t').size, 1)
  table.set('b', '2')
  const copy = newPath()
  await store.save(copy)
  assert.deepEqual(
    [Store.loadSync(path), Store.loadSync(copy)].map((each) => each.table('t').size),
    [1, 2],
  )
  table.set('c', '3')
  await store.close()
  assert.equal(Store.loadSync(path).table('t').size, 3)
})

test('using and await using close a store', async () => {
  const path = newPath()
  const store = openSync(path, { durability: 'none' })
  store.table('t').set('a', '1')
  store[Symbol.dispose]()
  assert.ok(existsSync(path))
  const again = openSync(path)
  again.table('t').set('b', '2')
  await again[Symbol.asyncDispose]()
  await again.close()
  again.closeSync()
  assert.equal(Store.loadSync(path).table('t').size, 2)
})

test('a second open in a thread is the same store', async () => {
  const path = newPath()
  const [first, second] = [openSync(path), await open(path, { memoryLimit: 1 << 24 })]
  first.table('t').set('a', '1')
  assert.equal(second.table('t').get('a'), '1')
  assert.equal(first.memoryLimit, 1 << 24)
  const isInUse = {
    name: 'TwindexError',
    code: 'TWINDEX_IN_USE',
    path,
    pid: process.pid,
    message: /"everysec".*"always"/,
  }
  assert.throws(() => openSync(path, { durability: 'always' }), isInUse)
  await first.close()
  assert.equal(second.table('t').get('a'), '1')
  assert.ok(second.table('t').insert('b', '2'))
  await second.close()
  const always = openSync(path, { durability: 'always' })
  assert.equal(always.table('t').get('a'), '1')
  assert.equal(always.table('t').get('b'), '2')
  always.closeSync()
})

test('workers that open one path have one store', async () => {
  const path = newPath()
  const threads = 4
  const each = 500
  const store = openSync(path)
  const workers = Array.from(
    { length: threads },
    (_, at) =>
      new Worker(new URL('./workers/file.js', import.meta.url), {
        workerData: { path, durability: 'everysec', from: at * each, to: (at + 1) * each },
      }),
  )
  await Promise.all(workers.map((worker) => once(worker, 'exit')))
  assert.equal(store.table('t', { index: 'sorted' }).size, threads * each)
  await store.close()
  const again = openSync(path)
  assert.equal(again.table('t', { index: 'sorted' }).size, threads * each)
  await again.close()
})

test('a worker that is ended while it writes lets go of the file, and leaves no half of a batch', async () => {
  const path = newPath()
  for (let round = 0; round < 3; round++) {
    const worker = new Worker(new URL('./workers/file.js', import.meta.url), {
      workerData: { path, durability: 'none', from: 0, to: 100, forever: true },
    })
    await once(worker, 'message')
    const store = openSync(path, { durability: 'none' })
    const table = store.table('t', { index: 'sorted' })
    while (!table.has('two')) await new Promise(setImmediate)
    await worker.terminate()
    assert.equal(table.get('one'), table.get('two'))
    assert.ok(table.size > 100)
    table.clear()
    store.closeSync()
    // Whoever opens it now finds it free.
    openSync(path, { durability: 'always' }).closeSync()
  }
})

test('a file in use names the process that has it', async () => {
  const path = newPath()
  const child = start([here('./children/holder.js'), path])
  await once(child.stdout, 'data')
  const isInUse = {
    code: 'TWINDEX_IN_USE',
    pid: child.pid,
    path,
    message: new RegExp(`in use by process ${child.pid}`),
  }
  assert.throws(() => openSync(path), isInUse)
  await assert.rejects(open(path), isInUse)
  const reader = openSync(path, { readOnly: true })
  assert.throws(() => reader.table('new'), { code: 'TWINDEX_READ_ONLY', path })
  await assert.rejects(reader.save(), { code: 'TWINDEX_READ_ONLY' })
  reader.closeSync()
  child.stdin.end()
  await once(child, 'exit')
  openSync(path).closeSync()
})

/** Runs the writer; the last number that it has said. */
async function write(path, durability, end) {
  const child = start([here('./children/writer.js'), path, durability, end], {
    stdio: ['ignore', 'pipe', end === 'throw' ? 'ignore' : 'pipe'],
  })
  let last = -1
  for await (const line of createInterface(child.stdout)) {
    last = Number(line)
    if (end === 'kill' && last % 200 === 199) child.kill('SIGKILL')
  }
  return last
}

for (const durability of ['everysec', 'always']) {
  for (const end of ['exit', 'throw', 'open', 'kill']) {
    test(`a process that ends without close loses nothing (${durability}, ${end})`, async () => {
      const path = newPath()
      for (let round = 0; round < 2; round++) {
        const last = await write(path, durability, end)
        const store = openSync(path)
        const table = store.table('t', { keys: 'int', values: 'int' })
        assert.ok(
          last >= 0 && table.size >= last + 1 && table.size <= last + 2,
          `${table.size} after ${last}`,
        )
        for (let number = 0; number <= last; number++) assert.equal(table.get(number), number)
        await store.close()
      }
    })
  }
}

test('a missing file or wrong path is an error that names it', async () => {
  const path = newPath()
  for (const options of [{ existing: true }, { readOnly: true }]) {
    assert.throws(() => openSync(path, options), { code: 'TWINDEX_IO', path, message: /\.twx/ })
    await assert.rejects(open(path, options), { code: 'TWINDEX_IO', path })
  }
  assert.throws(() => openSync(join(path, 'none.twx')), { code: 'TWINDEX_IO' })
  for (const wrong of [undefined, null, 1, {}, Buffer.from(path), new URL('https://example.org/')]) {
    assert.throws(() => openSync(wrong), { code: 'TWINDEX_TYPE' })
    await assert.rejects(open(wrong), { code: 'TWINDEX_TYPE' })
  }
  assert.throws(() => openSync(path, { durability: 'daily' }), {
    code: 'TWINDEX_UNKNOWN_DURABILITY',
    message: /"daily"/,
  })
  assert.throws(() => openSync(path, { progress() {} }), { code: 'TWINDEX_RANGE' })
  for (const options of [
    { durability: 1 },
    { readOnly: 'yes' },
    { existing: 0 },
    { memoryLimit: '1' },
    null,
    7,
  ]) {
    assert.throws(() => openSync(path, options), { code: 'TWINDEX_TYPE' })
  }
  assert.equal(existsSync(path), false)
})

test('damage is refused, checked and recovered; a torn end is cut', async () => {
  const path = newPath()
  const store = openSync(path)
  const table = store.table('t', { index: 'sorted' })
  for (let number = 100; number < 200; number++) table.set(String(number), 'x'.repeat(100))
  await store.compact()
  const end = store.stats().dumpBytes + store.stats().logBytes
  table.set('last', 'y'.repeat(1000))
  await store.flush()
  const whole = readFileSync(path)
  await store.close()

  writeFileSync(path, whole.subarray(0, end + 50))
  assert.deepEqual((await check(path)).damage, [])
  assert.deepEqual(checkSync(path), await check(path))
  const torn = openSync(path)
  assert.equal(torn.torn.bytes > 0, true)
  assert.equal(torn.table('t', { index: 'sorted' }).size, 100)
  await torn.close()

  const damaged = Buffer.from(whole)
  damaged[end >> 1] ^= 1
  writeFileSync(path, damaged)
  const isCorrupt = (error) =>
    error.code === 'TWINDEX_CORRUPT' &&
    error.path === path &&
    error.offset > 0 &&
    /damaged at byte/.test(error.message)
  assert.throws(() => openSync(path), isCorrupt)
  await assert.rejects(open(path), isCorrupt)
  const report = await check(path)
  assert.equal(report.damage.length, 1)
  const [{ offset, bytes, what }] = report.damage
  assert.ok(offset > 0 && bytes > 0 && what.length > 0)
  assert.ok(report.version === 1 && report.bytes === whole.length && report.records > 0)

  const saved = newPath()
  const recovery = await recover(path, saved)
  assert.deepEqual(recovery.report, report)
  assert.ok(recovery.tables.length > 0 && recovery.tables.every(({ pairs }) => pairs >= 0))
  assert.deepEqual((await check(saved)).damage, [])
  const [few, large] = [{ memoryLimit: 1000 }, newPath()]
  const limited = openSync(large)
  limited.table('t').set('k', 'x'.repeat(4 << 20))
  await limited.close()
  for (const work of [() => check(large, few), () => recover(large, newPath(), few)])
    await assert.rejects(work, { code: 'TWINDEX_MEMORY_LIMIT' })
  for (const work of [() => checkSync(large, few), () => recoverSync(large, newPath(), few)])
    assert.throws(work, { code: 'TWINDEX_MEMORY_LIMIT' })
  assert.deepEqual(await check(path, { memoryLimit: 1 << 24 }), report)
  for (const memoryLimit of [-1, 1.5, NaN])
    await assert.rejects(check(path, { memoryLimit }), { code: 'TWINDEX_RANGE' })
  assert.deepEqual(readFileSync(path), damaged)
  await assert.rejects(recover(path, saved), { code: 'TWINDEX_IO' })
  assert.throws(() => recoverSync(path, saved), { code: 'TWINDEX_IO' })
  const again = newPath()
  assert.deepEqual(recoverSync(path, again), recovery)
  assert.deepEqual(checkSync(again).damage, [])
  assert.throws(() => checkSync(newPath()), { code: 'TWINDEX_IO' })
})

test('a signal ends the waiting, and progress is told', async () => {
  const path = newPath()
  const store = openSync(path, { durability: 'none' })
  const table = store.table('t', { index: 'sorted' })
  table.upsertMany(Array.from({ length: 200_000 }, (_, at) => [String(at), `${at}`.repeat(3)]))
  const reason = new Error('enough')
  const aborted = AbortSignal.abort(reason)
  for (const work of [
    () => store.save(undefined, { signal: aborted }),
    () => store.save(newPath(), { signal: aborted }),
    () => store.flush({ signal: aborted }),
    () => store.compact({ signal: aborted }),
    () => store.close({ signal: aborted }),
    () => open(path, { signal: aborted }),
    () => check(path, { signal: aborted }),
    () => recover(path, newPath(), { signal: aborted }),
  ]) {
    await assert.rejects(work, (error) => error === reason)
  }
  assert.equal(store.closed, false)
  assert.equal(statSync(path).size, 0)

  const told = []
  await store.save(undefined, { progress: (progress) => told.push(progress) })
  assert.equal(told.at(-1).pairs, 200_000)
  assert.ok(told.at(-1).bytes > 0)
  const copy = newPath()
  await store.save(copy)
  await store.close({ signal: new AbortController().signal })

  const abort = new AbortController()
  const opening = open(path, { signal: abort.signal })
  abort.abort()
  await assert.rejects(opening, { name: 'AbortError' })
  // What was opened all the same is let go, else this one would be refused.
  let again
  for (;;) {
    try {
      again = openSync(path, { durability: 'always' })
      break
    } catch (error) {
      assert.equal(error.code, 'TWINDEX_IN_USE')
      await new Promise(setImmediate)
    }
  }
  again.closeSync()

  const counted = []
  const loaded = await open(copy, { progress: ({ pairs }) => counted.push(pairs) })
  assert.equal(counted.at(-1), 200_000)
  await loaded.close()
  const isThrown = (error) => error === reason
  await assert.rejects(
    check(path, {
      progress() {
        throw reason
      },
    }),
    isThrown,
  )
  for (const options of [{ signal: 1 }, { progress: 1 }, { signal: {} }]) {
    await assert.rejects(check(path, options), { code: 'TWINDEX_TYPE' })
  }
  await assert.rejects(check(path, { until: 1 }), { code: 'TWINDEX_RANGE' })
})

test('the thread goes on while another one works for it', async () => {
  const path = newPath()
  const store = openSync(path, { durability: 'none' })
  store.table('t').upsertMany(Array.from({ length: 300_000 }, (_, at) => [String(at), 'x'.repeat(50)]))
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

// --- files that others wrote

const golden = (name) => here(`../../../conformance/golden/${name}`)

test('a file that Python wrote is read without naming codecs', async () => {
  const name = golden('version-1-python.twx')
  const lines = readFileSync(golden('version-1-python.jsonl'), 'utf8').trimEnd().split('\n')
  for (const store of [await open(name, { readOnly: true }), await Store.load(name)]) {
    let table
    const left = new Map()
    for (const line of lines.map((line) => JSON.parse(line))) {
      if (line.index === undefined) {
        assert.deepEqual(table.get(line.key), line.value)
        left.set(table, (left.get(table) ?? 0) + 1)
      } else {
        table = store.table(line.table, { index: line.index })
        assert.deepEqual(table.codecs, { keys: line.keys, values: line.values })
      }
    }
    for (const [table, pairs] of left) assert.equal(table.size, pairs)
    assert.deepEqual(
      store.tables().map(([name]) => name),
      [...left.keys()].map(({ name }) => name),
    )
    await store.close()
  }
})
