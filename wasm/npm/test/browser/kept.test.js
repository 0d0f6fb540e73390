// A store that the browser keeps: across reloads, beside other tabs, and through the death of its own.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { load } from 'twindex-wasm'
import { kill, start, within } from './chromium.js'
import { openWorker } from './store.js'

const { Store } = await load()
const { context, address } = await start(after)

for (const storage of ['opfs', 'indexeddb']) {
  test(`a store is there again after it was closed (${storage})`, async () => {
    const one = await openWorker(context, address)
    const name = `again ${storage}`
    assert.deepEqual(await one.call('open', name, { storage }), { storage, readOnly: false, torn: undefined })
    await one.call('write', 0, 1000)
    await one.call('compact')
    await one.call('write', 1000, 2000)
    await one.call('close')
    await one.page.close()
    const other = await openWorker(context, address)
    await other.call('open', name, { storage, wait: true })
    assert.equal(await other.call('count'), 2000)
    assert.ok(await other.call('whole'))
    const bytes = await other.page.evaluate(async () => [...(await globalThis.command('dump')).result])
    assert.equal(Store.loadSync(Uint8Array.from(bytes)).table('t').get('key 7'), 'value 7')
    await other.page.close()
  })

  test(`one tab leads, another reads (${storage})`, async () => {
    const [leader, other] = [await openWorker(context, address), await openWorker(context, address)]
    const name = `lead ${storage}`
    await leader.call('open', name, { storage })
    await leader.call('write', 0, 100)
    await leader.call('flush')
    await assert.rejects(other.call('open', name, { storage }), {
      code: 'TWINDEX_IN_USE',
      message: /readOnly/,
    })
    assert.equal((await other.call('open', name, { storage, readOnly: true })).readOnly, true)
    assert.equal(await other.call('count'), 100)
    await assert.rejects(other.call('write', 0, 1), { code: 'TWINDEX_READ_ONLY' })
    // The lead passes on with the tab that had it.
    await leader.page.close()
    const next = await openWorker(context, address)
    await next.call('open', name, { storage, wait: true })
    assert.equal(await next.call('count'), 100)
    await Promise.all([other.page.close(), next.page.close()])
  })
}

test('a killed tab loses nothing that a call had returned from', async () => {
  const name = 'killed'
  let written = 0
  for (const durability of ['everysec', 'always', 'everysec']) {
    const { page, call } = await openWorker(context, address)
    await call('open', name, { durability, wait: true })
    assert.equal(await call('count'), written)
    assert.ok(await call('whole'))
    await call('write', written, written + 700)
    written += 700
    await kill(context, page)
    await page.close()
  }
  const { page, call } = await openWorker(context, address)
  await call('open', name, { wait: true })
  assert.equal(await call('count'), written)
  await page.close()
})

for (const storage of ['opfs', 'indexeddb']) {
  test(`a tab that is killed while it writes leaves what was flushed, and batches whole (${storage})`, async () => {
    const name = `killed in the middle ${storage}`
    let flushed = 0
    for (let round = 0; round < 4; round++) {
      const { page, call } = await openWorker(context, address)
      await call('open', name, { storage, wait: true })
      const count = await call('count')
      assert.equal(count % 500, 0, `${count} pairs are no whole batches`)
      assert.ok(count >= flushed, `${count} pairs, of which ${flushed} were flushed`)
      flushed = count + 500
      await call('many', count, flushed)
      await call('flush')
      page
        .evaluate(async (from) => {
          for (let at = from; ; at += 500) await globalThis.command('many', at, at + 500)
        }, flushed)
        .catch(() => {})
      await page.evaluate(() => globalThis.command('count'))
      await kill(context, page)
      await page.close()
    }
  })
}

for (const storage of ['opfs', 'indexeddb']) {
  test(`a file goes out of a store and into another, with its transactions (${storage})`, async () => {
    const { page, call } = await openWorker(context, address)
    const [name, to] = [`out of ${storage}`, `into ${storage}`]
    await call('open', name, { storage })
    await call('write', 0, 10)
    await call('move', 'key 1', 'key 10')
    await call('flush')
    await call('copy', name, to, { storage })
    await assert.rejects(call('copy', name, to, { storage }), { code: 'TWINDEX_IO' })
    await assert.rejects(call('copy', name, name, { storage }), { code: 'TWINDEX_IN_USE' })
    await call('close')
    await call('open', to, { storage })
    assert.deepEqual(await Promise.all(['key 1', 'key 10', 'key 2'].map((key) => call('get', key))), [
      undefined,
      'moved',
      'value 2',
    ])
    await page.close()
  })
}

for (const storage of ['opfs', 'indexeddb']) {
  test(`stores are listed, renamed and removed (${storage})`, async () => {
    const { page, call } = await openWorker(context, address)
    const [name, to] = [`first/${storage}`, `second ${storage}`]
    await call('open', name, { storage })
    await call('write', 0, 10)
    assert.ok((await call('list', { storage })).includes(name))
    const inUse = { code: 'TWINDEX_IN_USE' }
    await assert.rejects(call('remove', name, { storage }), inUse)
    await assert.rejects(call('rename', name, to, { storage }), inUse)
    // The next open waits for a store that is being closed.
    await call('closeSync')
    await call('open', name, { storage })
    await call('write', 10, 20)
    await call('close')
    await call('rename', name, to, { storage })
    const names = await call('list', { storage })
    assert.deepEqual([names.includes(name), names.includes(to)], [false, true])
    assert.deepEqual(await call('check', to, { storage }), [])
    await call('open', to, { storage })
    assert.deepEqual([await call('count'), await call('whole')], [20, true])
    await call('close')
    assert.equal(await call('remove', to, { storage }), true)
    assert.equal(await call('remove', to, { storage }), false)
    assert.ok(!(await call('list', { storage })).includes(to))
    await page.close()
  })
}

test('a window keeps a store too, in IndexedDB', async () => {
  const page = await context.newPage()
  await page.goto(`${address}page.css`)
  const seen = await page.evaluate(async (from) => {
    const { open } = await import(`${from}twindex-wasm/browser.js`)
    const store = await open('window')
    store.table('t').set('a', 'b')
    await store.close()
    const again = await open('window')
    const refused = await open('other', { storage: 'opfs' }).catch(
      ({ code, message }) => `${code} ${message}`,
    )
    return [again.storage, again.table('t').get('a'), refused]
  }, address)
  assert.deepEqual(seen.slice(0, 2), ['indexeddb', 'b'])
  assert.match(seen[2], /^TWINDEX_IO .*'opfs'/)
  await page.close()
})

test('files in IndexedDB that are read at the same time leave no connection that blocks a removal', async () => {
  const page = await context.newPage()
  await page.goto(`${address}page.css`)
  const read = page.evaluate(async (from) => {
    const { IndexedFiles } = await import(`${from}twindex-wasm/src/browser/storage.js`)
    const writer = new IndexedFiles('read at once')
    const file = await writer.create(1)
    for (const bytes of [[1, 2], [3]]) file.append(Uint8Array.from(bytes))
    await file.close()
    const reader = new IndexedFiles('read at once')
    const found = await Promise.all([reader.read(1), reader.read(1), reader.list()])
    await reader.destroy()
    const left = await new IndexedFiles('read at once').list()
    return [...found, left].map((each) => [...each])
  }, address)
  assert.deepEqual(await within('the removal', read), [[1, 2, 3], [1, 2, 3], [1], []])
  await page.close()
})

test('every call closes its connections to IndexedDB, so that a tab that hangs blocks no removal', async () => {
  const page = await context.newPage()
  await page.goto(`${address}page.css`)
  const left = page.evaluate(async (from) => {
    const { check, connect, exportFile, importFile, list, open, remove, rename } = await import(
      `${from}twindex-wasm/browser.js`
    )
    const connections = new Set()
    const { open: opening } = IDBFactory.prototype
    IDBFactory.prototype.open = function (...given) {
      const made = opening.apply(this, given)
      made.addEventListener('success', () => connections.add(made.result))
      return made
    }
    const { close } = IDBDatabase.prototype
    IDBDatabase.prototype.close = function () {
      connections.delete(this)
      close.call(this)
    }
    const after = {}
    const calls = {
      open: async () => {
        const store = await open('closing')
        store.table('t').set('a', 'b')
        await store.compact()
        await store.close()
      },
      read: async () => (await open('closing', { readOnly: true })).close(),
      connect: async () => (await connect('closing')).close(),
      list,
      check: () => check('closing'),
      copy: async () => importFile('closing too', await exportFile('closing')),
      taken: async () => importFile('closing too', await exportFile('closing')).catch(() => {}),
      rename: () => rename('closing too', 'closing last'),
      remove: () => remove('closing last'),
    }
    for (const [name, call] of Object.entries(calls)) {
      await call()
      await null
      if (connections.size > 0) after[name] = connections.size
    }
    return after
  }, address)
  assert.deepEqual(await within('the calls', left), {})
  await page.close()
})

test('a database that a tab began and left empty is no store', async () => {
  const { page, call } = await openWorker(context, address)
  const storage = 'indexeddb'
  await page.evaluate(
    () =>
      new Promise((resolve) => {
        const made = indexedDB.open('twindex:left empty', 1)
        made.onupgradeneeded = () => made.result.createObjectStore('pieces')
        made.onsuccess = () => resolve(made.result.close())
      }),
  )
  assert.ok(!(await call('list', { storage })).includes('left empty'))
  await call('open', 'left empty', { storage })
  assert.ok((await call('list', { storage })).includes('left empty'))
  await page.close()
})

test('writes fail once the database of an open store was removed', async () => {
  const { page, call } = await openWorker(context, address)
  await call('open', 'removed', { storage: 'indexeddb' })
  await call('write', 0, 10)
  await call('flush')
  await call('removeBase', 'twindex:removed')
  await call('write', 10, 20)
  await assert.rejects(call('flush'), { code: 'TWINDEX_LOG_FAILED', message: /was removed while/ })
  await assert.rejects(call('close'), { code: 'TWINDEX_LOG_FAILED' })
  await page.close()
})

test('names that only look like a store are none, and wrong ones say why', async () => {
  const { page, call } = await openWorker(context, address)
  await page.evaluate(async () => {
    const folder = await navigator.storage.getDirectory()
    for (const name of ['100%.1.twx', 'app.007.twx', 'app.x.twx'])
      await folder.getFileHandle(name, { create: true })
    await folder.getDirectoryHandle('folder.1.twx', { create: true })
  })
  for (const storage of ['opfs', 'indexeddb']) {
    await assert.rejects(call('check', 'nobody', { storage }), { code: 'TWINDEX_IO' })
    assert.equal(await call('remove', 'nobody', { storage }), false)
    await call('open', 'é/%2F 😀', { storage })
    await call('close')
    const names = await call('list', { storage })
    assert.ok(names.includes('é/%2F 😀'))
    for (const name of ['nobody', '100%', 'app', 'folder']) assert.ok(!names.includes(name), name)
    await assert.rejects(call('open', 'x'.repeat(231), { storage }), { code: 'TWINDEX_RANGE' })
    await assert.rejects(call('open', '\ud800', { storage }), { code: 'TWINDEX_ENCODING' })
    await assert.rejects(call('remove', 'é/%2F 😀', { storge: storage }), { code: 'TWINDEX_RANGE' })
    await assert.rejects(call('open', 'x', { storage, readOnly: 'no' }), { code: 'TWINDEX_TYPE' })
    // One that could not be opened is free at once.
    await call('open', 'small', { storage })
    await call('many', 0, 50_000)
    await call('close')
    for (let times = 0; times < 3; times++) {
      await assert.rejects(call('open', 'small', { storage, memoryLimit: 1000 }), {
        code: 'TWINDEX_MEMORY_LIMIT',
      })
    }
  }
  await page.close()
})
