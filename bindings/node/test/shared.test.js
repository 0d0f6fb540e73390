// One store for all threads of the process.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { openSync, Store } from 'twindex'
import { code, folder, heard, newPath, thread, until } from './helpers.js'

const THREADS = 4
const EACH = 2000

/** A worker that inserts its keys and says how many were new. */
const start = (shared, rest) => thread('writer', { shared, table: 't', from: 0, to: 100, ...rest })

for (const index of ['hash', 'sorted']) {
  test(`workers write to one ${index} table, all see all, and a key is inserted once`, async () => {
    const shared = `parallel-${index}`
    const store = new Store({ shared })
    const table = store.table('t', { index })
    // Each key is wanted by two of them.
    const workers = Array.from({ length: THREADS }, (_, at) =>
      start(shared, { options: { index }, from: (at >> 1) * EACH, to: ((at >> 1) + 1) * EACH }),
    )
    const reports = await Promise.all(workers.map(heard))
    await Promise.all(workers.map((worker) => worker.terminate()))
    const keys = (THREADS / 2) * EACH
    assert.equal(
      reports.reduce((sum, { inserted }) => sum + inserted, 0),
      keys,
    )
    assert.equal(table.size, keys + 1)
    assert.equal(table.select('sum'), String(keys))
    for (let i = 0; i < keys; i++) assert.equal(table.select(`key-${i}`), `value-${i}`)
    store.closeSync()
  })
}

test('a worker that is ended in the middle leaves the store usable, and lets go of it', async () => {
  const shared = 'ended'
  const store = new Store({ shared })
  const table = store.table('t', { index: 'sorted' })
  for (let round = 0; round < 5; round++) {
    const worker = start(shared, { options: { index: 'sorted' }, forever: true })
    await heard(worker)
    const before = table.select('now')
    await until('the worker has written', () => table.select('now') !== before)
    if (round === 4) store.closeSync()
    await worker.terminate()
    if (round === 4) break
    const after = table.select('now')
    assert.ok(table.upsert('mine', 'here') && table.delete('mine'))
    assert.equal([...table].length, table.size)
    assert.equal(table.select('now'), after)
  }
  assert.deepEqual(new Store({ shared }).tables(), [])
})

test('handles of one name are one store, with one memory limit, and close on their own', () => {
  const [first, second] = [
    new Store({ shared: 'handles', memoryLimit: 1 << 20 }),
    new Store({ shared: 'handles' }),
  ]
  assert.equal(second.memoryLimit, 1 << 20)
  second.memoryLimit = 2 << 20
  assert.equal(first.memoryLimit, 2 << 20)
  first.table('t').set('a', '1')
  const table = second.table('t')
  first.closeSync()
  assert.throws(() => first.table('t'), code('CLOSED'))
  assert.equal(table.get('a'), '1')
  assert.equal(new Store({ shared: 'other' }).tables().length, 0)
  second.closeSync()
  assert.deepEqual(new Store({ shared: 'handles' }).tables(), [])
})

for (const durability of ['none', 'everysec', 'always']) {
  test(`${durability}: an open waits for a close, and nothing is lost that a close saved`, async () => {
    const path = newPath()
    const rounds = 30
    const workers = Array.from({ length: THREADS }, (_, at) =>
      thread('opener', { path, durability, rounds, key: `k${at}` }),
    )
    await Promise.all(workers.map((worker) => once(worker, 'exit')))
    const store = openSync(path, { durability })
    assert.deepEqual([...store.table('t').values()], Array(THREADS).fill(String(rounds)))
    store.closeSync()
  })
}

test('one path is one store, also by links and before its file is there', () => {
  symlinkSync('real.twx', join(folder, 'link.twx'))
  const stores = ['link.twx', 'real.twx', 'link.twx'].map((name) => openSync(join(folder, name)))
  stores[0].table('t').set('a', '1')
  for (const store of stores) assert.equal(store.table('t').get('a'), '1')
  for (const store of stores) store.closeSync()
})

test('a new name is shared while another thread is in native code', { timeout: 60_000 }, async () => {
  const [begun, end] = [join(folder, 'begun'), join(folder, 'end')]
  // It waits for a file that this thread makes once it has its store.
  const wait = `touch ${begun}; until [ -e ${end} ]; do sleep 0.01; done`
  const worker = new Worker(`require('node:child_process').execSync(${JSON.stringify(wait)})`, { eval: true })
  try {
    await until('the other thread is in native code', () => existsSync(begun))
    new Store({ shared: 'beside a busy thread' }).closeSync()
  } finally {
    writeFileSync(end, '')
    await once(worker, 'exit')
  }
})

test('two copies of the package refuse to share a name', async () => {
  const copy = mkdtempSync(join(folder, 'twindex-copy-'))
  for (const part of ['lib', 'scripts', 'index.js', 'package.json', 'twindex.node']) {
    cpSync(new URL(`../${part}`, import.meta.url), join(copy, part), { recursive: true })
  }
  const other = createRequire(import.meta.url)(join(copy, 'index.js'))
  assert.notEqual(other.Store, Store)
  const store = new other.Store({ shared: 'of two copies' })
  const isOther = code('OTHER_COPY', { name: 'TwindexError', message: /of two copies.*npm dedupe/ })
  assert.throws(() => new Store({ shared: 'of two copies' }), isOther)
  // In a worker that has never loaded the other copy too.
  const [error] = await once(start('of two copies'), 'error')
  assert.equal(error.code, 'TWINDEX_OTHER_COPY')
  new Store({ shared: 'of one copy' }).closeSync()
  store.closeSync()
  new Store({ shared: 'of two copies' }).closeSync()
  const path = newPath()
  const opened = other.openSync(path)
  assert.throws(() => openSync(path), code('IN_USE', { pid: process.pid }))
  opened.closeSync()
  openSync(path).closeSync()
})

test('the native module of @twindex/cluster is no copy of the package', () => {
  // By its name: what it holds under the same one is not asked.
  const path = join(folder, 'twindex-cluster.node')
  cpSync(new URL('../twindex.node', import.meta.url), path)
  createRequire(import.meta.url)(path).openShared('beside a cluster')
  new Store({ shared: 'beside a cluster' }).closeSync()
})
