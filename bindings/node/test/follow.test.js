// Stores that keep up with the process that writes their file.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { cpSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { open, openSync, recoverSync, Store } from 'twindex'
import { remote, until } from './processes.js'

const folder = mkdtempSync(join(tmpdir(), 'twindex-follow-'))
after(() => rmSync(folder, { recursive: true }))

let files = 0
const newPath = () => join(folder, `${++files}.twx`)

for (const durability of ['everysec', 'always']) {
  test(`a follower shows what another process wrote (${durability})`, async () => {
    const path = newPath()
    const writer = await remote(path, durability)
    await writer.tell('set', 'ada', '1')
    const copy = await open(path, { readOnly: true })
    const users = copy.table('users')
    await writer.tell('set', 'ada', '2')
    await writer.tell('compact')
    await writer.tell('both', '3')
    assert.equal(users.get('ada'), '1')
    const behind = copy.stats()
    assert.ok(behind.behindBytes > 0)
    assert.ok(behind.refreshed <= new Date())
    assert.equal(await copy.refresh(), 2)
    assert.deepEqual(
      new Map(users),
      new Map([
        ['ada', '2'],
        ['one', '3'],
        ['two', '3'],
      ]),
    )
    assert.equal(copy.stats().behindBytes, 0)
    assert.equal(copy.position, await writer.tell('position'))
    assert.equal(copy.stats().position, copy.position)
    assert.equal(copy.refreshSync(), 0)
    assert.throws(() => users.set('a', 'b'), { code: 'TWINDEX_READ_ONLY', path })
    // Tables that come and go.
    await writer.tell('table', 'more', { index: 'sorted', values: 'json' })
    await writer.tell('put', 'more', { index: 'sorted' }, 'a', [1])
    await copy.refresh()
    const more = copy.table('more', { index: 'sorted' })
    assert.deepEqual([...more], [['a', [1]]])
    await writer.tell('drop', 'more')
    await copy.refresh()
    assert.equal(more.size, 0)
    assert.throws(() => copy.table('more', { create: false }), { code: 'TWINDEX_NO_TABLE' })
    await writer.end()
    assert.equal(await copy.refresh(), 0)
    await copy.close()
    await assert.rejects(copy.refresh(), { code: 'TWINDEX_CLOSED' })
    await assert.rejects(copy.follow(), { code: 'TWINDEX_CLOSED' })
    assert.throws(() => copy.followSync(), { code: 'TWINDEX_CLOSED' })
    assert.throws(() => copy.position, { code: 'TWINDEX_CLOSED' })
  })
}

test('a follower keeps up by itself, whatever becomes of the writer and its file', async () => {
  const path = newPath()
  let writer = await remote(path)
  await writer.tell('set', 'ada', '1')
  const copy = await open(path, { readOnly: true })
  await copy.follow()
  await copy.follow()
  const users = copy.table('users')
  await writer.tell('set', 'ada', '2')
  await until('it is written', () => users.get('ada') === '2')
  await writer.kill()
  writer = await remote(path)
  await writer.tell('compact')
  await writer.tell('set', 'ada', '3')
  await until('it is written after a kill', () => users.get('ada') === '3')
  await writer.end()
  // Another file in its place, then what was recovered from the first, then none.
  const kept = newPath()
  cpSync(path, kept)
  const other = new Store()
  other.table('users').set('bob', '1')
  other.saveSync(path)
  await until('it was replaced', () => users.get('bob') === '1' && users.size === 1)
  const recovered = newPath()
  recoverSync(kept, recovered)
  renameSync(recovered, path)
  await until('it was recovered', () => users.get('ada') === '3' && users.size === 1)
  rmSync(path)
  await until('there is none', () => /no such file/i.test(copy.stats().followError ?? ''))
  assert.equal(users.get('ada'), '3')
  await assert.rejects(copy.refresh(), { code: 'TWINDEX_IO', path })
  await assert.rejects(open(path, { readOnly: true }), { code: 'TWINDEX_IO', path })
  cpSync(kept, path)
  await until('there is one again', () => copy.stats().followError === undefined)
  await copy.close()
})

test('all threads that open a file with readOnly have one follower', async () => {
  const path = newPath()
  const writer = await remote(path)
  await writer.tell('many', 10)
  const copy = openSync(path, { readOnly: true })
  const users = copy.table('users')
  const script = new URL('./workers/follower.js', import.meta.url)
  const workers = Array.from({ length: 3 }, () => new Worker(script, { workerData: path }))
  const first = await Promise.all(workers.map((worker) => once(worker, 'message')))
  assert.deepEqual(first, [[10], [10], [10]])
  // Who opens it sees the file as it is now, and so do the others then.
  await writer.tell('many', 20)
  assert.equal(users.size, 10)
  const link = newPath()
  symlinkSync(path, link)
  const again = openSync(link, { readOnly: true })
  assert.deepEqual([users.size, again.table('users').size], [20, 20])
  again.closeSync()
  const ask = async (worker, message) => {
    worker.postMessage(message)
    return (await once(worker, 'message'))[0]
  }
  assert.equal(await ask(workers[0], 'follow'), 20)
  await writer.tell('many', 30)
  for (const worker of workers) await until('a worker sees it', async () => (await ask(worker, '')) === 30)
  assert.equal(users.size, 30)
  // It is kept up while any thread has it, whichever asked for that.
  workers[0].postMessage('close')
  await once(workers[0], 'exit')
  await workers[1].terminate()
  await writer.tell('many', 40)
  await until('the main thread sees it', () => users.size === 40)
  await copy.close()
  await writer.tell('many', 50)
  await until('the last worker sees it', async () => (await ask(workers[2], '')) === 50)
  await workers[2].terminate()
  await writer.end()
})

test('threads that are ended in the middle leave the follower to the others', async () => {
  const path = newPath()
  const store = openSync(path)
  const table = store.table('t')
  table.set('one', '')
  const copy = openSync(path, { readOnly: true })
  const script = new URL('./workers/reader.js', import.meta.url)
  let written = 0
  let read = 0
  for (let round = 0; round < 6; round++) {
    const workers = Array.from({ length: 2 }, () => new Worker(script, { workerData: path }))
    const told = []
    for (const worker of workers) {
      worker.on('error', (error) => told.push(error))
      worker.on('message', ({ half, read: value }) => {
        if (half !== undefined) told.push(half)
        if (value !== undefined) read++
      })
    }
    const before = read
    await until('they read', () => {
      const value = String(++written)
      store.batch((batch) => batch.set(table, 'one', value).set(table, 'two', value))
      return read > before + 20
    })
    if (round % 2 === 1) store.compactSync()
    await Promise.all(workers.map((worker) => worker.terminate()))
    assert.deepEqual(told, [])
    await copy.refresh()
    assert.equal(copy.table('t').get('two'), String(written))
  }
  await Promise.all([copy.close(), store.close()])
  openSync(path).closeSync()
})

test('a store without a file to follow says so', async () => {
  const memory = new Store()
  await assert.rejects(memory.refresh(), { code: 'TWINDEX_NO_FILE' })
  assert.throws(() => memory.followSync(), { code: 'TWINDEX_NO_FILE' })
  assert.throws(() => memory.position, { code: 'TWINDEX_NO_FILE' })
  const path = newPath()
  const store = openSync(path, { durability: 'none' })
  assert.throws(() => store.position, { code: 'TWINDEX_NO_LOG', path })
  assert.equal(store.stats().position, undefined)
  store.table('users').set('ada', '1')
  await store.save()
  const copy = openSync(path, { readOnly: true })
  store.table('users').set('bob', '1')
  assert.equal(await copy.refresh(), 0)
  await store.save()
  assert.deepEqual([await copy.refresh(), copy.table('users').size], [1, 2])
  assert.equal(await store.refresh(), 0)
  await store.follow()
  await assert.rejects(copy.refresh({ until: 1 }), { code: 'TWINDEX_RANGE' })
  await assert.rejects(copy.follow({ signal: AbortSignal.abort(new Error('enough')) }), /enough/)
  await Promise.all([store.close(), copy.close()])
})
