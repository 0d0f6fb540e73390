// One store for all threads of the process.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { openSync, Store } from 'twindex'

const script = new URL('./workers/writer.js', import.meta.url)
const THREADS = 4
const EACH = 2000

/** A worker that inserts its keys and says how many were new. */
function start(workerData) {
  return new Worker(script, { workerData })
}

async function report(worker) {
  const [message] = await once(worker, 'message')
  return message
}

for (const index of ['hash', 'sorted']) {
  test(`workers insert into one ${index} table, and all see all`, async () => {
    const shared = `parallel-${index}`
    const store = new Store({ shared })
    const table = store.table('t', { index })
    const workers = Array.from({ length: THREADS }, (_, at) =>
      start({ shared, table: 't', options: { index }, from: at * EACH, to: (at + 1) * EACH }),
    )
    const reports = await Promise.all(workers.map(report))
    await Promise.all(workers.map((worker) => worker.terminate()))
    assert.deepEqual(
      reports.map(({ inserted }) => inserted),
      Array(THREADS).fill(EACH),
    )
    assert.equal(table.size, THREADS * EACH + 1)
    assert.equal(table.select('sum'), String(THREADS * EACH))
    for (let i = 0; i < THREADS * EACH; i++) assert.equal(table.select(`key-${i}`), `value-${i}`)
    store.closeSync()
  })
}

test('workers that want the same keys get each key once', async () => {
  const shared = 'contended'
  const store = new Store({ shared })
  const workers = Array.from({ length: THREADS }, () => start({ shared, table: 't', from: 0, to: EACH }))
  const reports = await Promise.all(workers.map(report))
  assert.equal(
    reports.reduce((sum, { inserted }) => sum + inserted, 0),
    EACH,
  )
  assert.equal(store.table('t').select('sum'), String(EACH))
  store.closeSync()
})

test('a worker that is ended in the middle leaves the store usable', async () => {
  const shared = 'ended'
  const store = new Store({ shared })
  const table = store.table('t', { index: 'sorted' })
  for (let round = 0; round < 5; round++) {
    const worker = start({
      shared,
      table: 't',
      options: { index: 'sorted' },
      from: 0,
      to: 100,
      forever: true,
    })
    await report(worker)
    const before = table.select('now')
    while (table.select('now') === before) await new Promise(setImmediate)
    await worker.terminate()
    const after = table.select('now')
    assert.ok(table.upsert('mine', 'here'))
    assert.ok(table.delete('mine'))
    assert.equal([...table].length, table.size)
    assert.equal(table.select('now'), after)
  }
  store.closeSync()
})

test('a worker that is ended lets go of the store', async () => {
  const shared = 'abandoned'
  const worker = start({ shared, table: 't', from: 0, to: 100, forever: true })
  await report(worker)
  const store = new Store({ shared })
  assert.equal(store.table('t').select('key-7'), 'value-7')
  store.closeSync()
  await worker.terminate()
  assert.deepEqual(new Store({ shared }).tables(), [])
})

test('a worker that is ended leaves no memory behind', async () => {
  const hoarder = new URL('./workers/hoarder.js', import.meta.url)
  const endSome = async (workers) => {
    for (let at = 0; at < workers; at++) {
      const worker = new Worker(hoarder)
      await once(worker, 'message')
      await worker.terminate()
    }
  }
  await endSome(5)
  const before = process.memoryUsage().rss
  await endSome(20)
  const grown = process.memoryUsage().rss - before
  // 400 megabytes, were they kept.
  assert.ok(grown < 200e6, `it grew by ${Math.round(grown / 1e6)} MB`)
})

test('handles of one name are one store, and close on their own', () => {
  const [first, second] = [new Store({ shared: 'handles' }), new Store({ shared: 'handles' })]
  first.table('t').set('a', '1')
  const table = second.table('t')
  assert.equal(table.get('a'), '1')
  first.closeSync()
  assert.throws(() => first.table('t'), { code: 'TWINDEX_CLOSED' })
  assert.equal(table.get('a'), '1')
  assert.equal(new Store({ shared: 'other' }).tables().length, 0)
  second.closeSync()
  assert.deepEqual(new Store({ shared: 'handles' }).tables(), [])
})

for (const durability of ['none', 'everysec', 'always']) {
  test(`${durability}: an open waits for a close, and nothing is lost that a close saved`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'twindex-loops-'))
    const path = join(folder, 'a.twx')
    const opener = new URL('./workers/opener.js', import.meta.url)
    const rounds = 30
    try {
      const workers = Array.from(
        { length: THREADS },
        (_, at) => new Worker(opener, { workerData: { path, durability, rounds, key: `k${at}` } }),
      )
      await Promise.all(workers.map((worker) => once(worker, 'exit')))
      const store = openSync(path, { durability })
      assert.deepEqual([...store.table('t').values()], Array(THREADS).fill(String(rounds)))
      store.closeSync()
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
}

test('one path is one store, also by links and before its file is there', () => {
  const folder = mkdtempSync(join(tmpdir(), 'twindex-links-'))
  try {
    symlinkSync('real.twx', join(folder, 'link.twx'))
    const stores = ['link.twx', 'real.twx', 'link.twx'].map((name) => openSync(join(folder, name)))
    stores[0].table('t').set('a', '1')
    for (const store of stores) assert.equal(store.table('t').get('a'), '1')
    for (const store of stores) store.closeSync()
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a new name is shared while another thread is in native code', { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'twindex-busy-'))
  const [begun, end] = [join(folder, 'begun'), join(folder, 'end')]
  // It waits for a file that this thread makes once it has its store.
  const wait = `touch ${begun}; until [ -e ${end} ]; do sleep 0.01; done`
  const worker = new Worker(`require('node:child_process').execSync(${JSON.stringify(wait)})`, { eval: true })
  try {
    while (!existsSync(begun)) await new Promise((resolve) => setTimeout(resolve, 5))
    new Store({ shared: 'beside a busy thread' }).closeSync()
    writeFileSync(end, '')
    await once(worker, 'exit')
  } finally {
    writeFileSync(end, '')
    rmSync(folder, { recursive: true })
  }
})

test('a memory limit belongs to the store that is shared', () => {
  const first = new Store({ shared: 'limited', memoryLimit: 1 << 20 })
  const second = new Store({ shared: 'limited' })
  assert.equal(second.memoryLimit, 1 << 20)
  second.memoryLimit = 2 << 20
  assert.equal(first.memoryLimit, 2 << 20)
  first.closeSync()
  second.closeSync()
})

test('two copies of the package refuse to share a name', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'twindex-copy-'))
  for (const part of ['lib', 'scripts', 'index.js', 'package.json', 'twindex.node']) {
    cpSync(new URL(`../${part}`, import.meta.url), join(folder, part), { recursive: true })
  }
  try {
    const other = createRequire(import.meta.url)(join(folder, 'index.js'))
    assert.notEqual(other.Store, Store)
    const store = new other.Store({ shared: 'of two copies' })
    const isOther = { name: 'TwindexError', code: 'TWINDEX_OTHER_COPY', message: /of two copies.*npm dedupe/ }
    assert.throws(() => new Store({ shared: 'of two copies' }), isOther)
    // In a worker that has never loaded the other copy too.
    const worker = start({ shared: 'of two copies', table: 't', from: 0, to: 1 })
    const [error] = await once(worker, 'error')
    assert.equal(error.code, 'TWINDEX_OTHER_COPY')
    new Store({ shared: 'of one copy' }).closeSync()
    store.closeSync()
    new Store({ shared: 'of two copies' }).closeSync()
    const path = join(folder, 'a.twx')
    const opened = other.openSync(path)
    assert.throws(() => openSync(path), { code: 'TWINDEX_IN_USE', pid: process.pid })
    opened.closeSync()
    openSync(path).closeSync()
  } finally {
    rmSync(folder, { recursive: true })
  }
})
