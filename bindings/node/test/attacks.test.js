// What broke under attack. Each test begins with what had happened.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { open, openSync, Store } from 'twindex'

const folder = mkdtempSync(join(tmpdir(), 'twindex-attacks-'))
after(() => rmSync(folder, { recursive: true }))

let files = 0
const newPath = () => join(folder, `${++files}.twx`)

for (const close of [(store) => store.close(), async (store) => store.closeSync()]) {
  test(`a store that cannot be closed stays open (${close})`, async () => {
    // A failed `close` closed the store all the same, so that all that it held was lost.
    const within = join(folder, `folder-${++files}`)
    mkdirSync(within)
    const path = join(within, 'app.twx')
    const store = openSync(path, { durability: 'none' })
    const table = store.table('t', { index: 'sorted' })
    table.set('a', '1')
    const cursor = table.cursor()
    rmSync(within, { recursive: true })
    await assert.rejects(close(store), { code: 'TWINDEX_IO' })
    assert.equal(store.closed, false)
    assert.deepEqual([table.get('a'), cursor.scanAscNext()], ['1', ['a', '1']])
    const rescued = newPath()
    await store.save(rescued)
    mkdirSync(within)
    await store.close()
    assert.equal(store.closed, true)
    assert.throws(() => table.get('a'), { code: 'TWINDEX_CLOSED' })
    for (const name of [rescued, path]) {
      const again = await open(name)
      assert.equal(again.table('t', { index: 'sorted' }).get('a'), '1')
      await again.close()
    }
  })
}

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
  assert.throws(() => store.batch(fill), { code: 'TWINDEX_TYPE', message: /waits? for/ })
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([table.size, seen], [0, ['TWINDEX_CLOSED']])
})

test('a view of transferred or shrunk memory is refused', () => {
  // It was stored as nothing at all.
  const store = new Store()
  const table = store.table('t', { keys: 'view', values: 'view' })
  const key = new Uint8Array([1])
  for (const View of [Uint8Array, Int32Array, DataView]) {
    const shrunk = new ArrayBuffer(16, { maxByteLength: 16 })
    const outside = new View(shrunk, 8)
    shrunk.resize(4)
    const moved = new ArrayBuffer(8)
    const detached = new View(moved)
    structuredClone(moved, { transfer: [moved] })
    for (const gone of [outside, detached]) {
      assert.throws(() => table.set(key, gone), { code: 'TWINDEX_TYPE' })
      assert.throws(() => table.set(gone, key), { code: 'TWINDEX_TYPE' })
    }
  }
  assert.equal(table.size, 0)
  table.set(key, new Uint8Array(0))
  table.set(new DataView(new ArrayBuffer(0)), key)
  assert.equal(table.size, 2)
})

for (const way of ['set', 'sorted', 'upsertMany', 'tables', 'batch', 'dump']) {
  test(`short memory is an error (${way})`, { skip: process.platform !== 'linux' }, () => {
    // The process ended: "memory allocation failed", "terminate called after throwing an instance of 'std::bad_alloc'".
    const child = join(import.meta.dirname, 'children/short-memory.cjs')
    const command = `ulimit -v 1300000 && exec "${process.execPath}" --max-old-space-size=100 "${child}" ${way}`
    const { stdout, stderr, status } = spawnSync('sh', ['-c', command], { encoding: 'utf8' })
    assert.deepEqual([stdout, status], ['TWINDEX_MEMORY_LIMIT\n', 0], stderr)
  })
}
