// Stores that keep up with the process that writes their file, as far as Node has a part in it. What a follower sees of a file is
// tested in `durable`.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync, symlinkSync } from 'node:fs'
import { test } from 'node:test'
import { open, openSync, Store } from 'twindex'
import { code, heard, newPath, remote, thread, until } from './helpers.js'

test('a follower shows what another process wrote, once it refreshes', async () => {
  const path = newPath()
  const writer = await remote(path)
  await writer.tell('set', 'ada', '1')
  const copy = await open(path, { readOnly: true })
  const users = copy.table('users')
  await writer.tell('set', 'ada', '2')
  await writer.tell('both', '3')
  assert.equal(users.get('ada'), '1')
  const behind = copy.stats()
  assert.ok(behind.behindBytes > 0 && behind.refreshed <= new Date())
  assert.equal(await copy.refresh(), 2)
  assert.deepEqual(new Map(users), new Map(Object.entries({ ada: '2', one: '3', two: '3' })))
  assert.equal(copy.stats().behindBytes, 0)
  assert.equal(copy.position, await writer.tell('position'))
  assert.equal(copy.stats().position, copy.position)
  assert.equal(copy.refreshSync(), 0)
  assert.throws(() => users.set('a', 'b'), code('READ_ONLY', { path }))
  // Handles of tables that come and go.
  await writer.tell('put', 'more', { index: 'sorted', values: 'json' }, 'a', [1])
  await copy.refresh()
  const more = copy.table('more', { index: 'sorted' })
  assert.deepEqual([...more], [['a', [1]]])
  await writer.tell('drop', 'more')
  await copy.refresh()
  assert.equal(more.size, 0)
  assert.throws(() => copy.table('more', { create: false }), code('NO_TABLE'))
  await writer.end()
  await copy.close()
  await assert.rejects(copy.refresh(), code('CLOSED'))
  await assert.rejects(copy.follow(), code('CLOSED'))
  assert.throws(() => copy.followSync(), code('CLOSED'))
  assert.throws(() => copy.position, code('CLOSED'))
})

test('a follower keeps up by itself, and tells why it does not', async () => {
  const path = newPath()
  let writer = await remote(path)
  await writer.tell('set', 'ada', '1')
  const copy = await open(path, { readOnly: true })
  await copy.follow()
  await copy.follow()
  const users = copy.table('users')
  await writer.kill()
  writer = await remote(path)
  await writer.tell('compact')
  await writer.tell('set', 'ada', '3')
  await until('it is written after a kill', () => users.get('ada') === '3')
  await writer.end()
  rmSync(path)
  await until('there is none', () => /no such file/i.test(copy.stats().followError ?? ''))
  assert.equal(users.get('ada'), '3')
  await assert.rejects(copy.refresh(), code('IO', { path }))
  await copy.close()
})

test('all threads that open a file with readOnly have one follower', async () => {
  const path = newPath()
  const writer = await remote(path)
  await writer.tell('many', 10)
  const copy = openSync(path, { readOnly: true })
  const users = copy.table('users')
  const workers = Array.from({ length: 3 }, () => thread('follower', path))
  assert.deepEqual(await Promise.all(workers.map(heard)), [10, 10, 10])
  // Who opens it sees the file as it is now, and so do the others then.
  await writer.tell('many', 20)
  assert.equal(users.size, 10)
  const link = newPath()
  symlinkSync(path, link)
  const again = openSync(link, { readOnly: true })
  assert.deepEqual([users.size, again.table('users').size], [20, 20])
  again.closeSync()
  const ask = (worker, message) => {
    worker.postMessage(message)
    return heard(worker)
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
  const table = store.table('t').set('one', '')
  const copy = openSync(path, { readOnly: true })
  let written = 0
  let read = 0
  for (let round = 0; round < 4; round++) {
    const workers = Array.from({ length: 2 }, () => thread('reader', path))
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

test('a store without a file to follow, or without a log, says so', async () => {
  const memory = new Store()
  await assert.rejects(memory.refresh(), code('NO_FILE'))
  assert.throws(() => memory.followSync(), code('NO_FILE'))
  assert.throws(() => memory.position, code('NO_FILE'))
  const path = newPath()
  const store = openSync(path, { durability: 'none' })
  assert.throws(() => store.position, code('NO_LOG', { path }))
  assert.equal(store.stats().position, undefined)
  await store.save()
  assert.equal(await store.refresh(), 0)
  await store.follow()
  const copy = openSync(path, { readOnly: true })
  await assert.rejects(copy.refresh({ until: 1 }), code('RANGE'))
  await assert.rejects(copy.follow({ signal: AbortSignal.abort(new Error('enough')) }), /enough/)
  await Promise.all([store.close(), copy.close()])
})
