// What broke under attack. Each test begins with what had happened.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { Store } from 'twindex'
import { code, here } from './helpers.js'

test('a view of transferred or shrunk memory is refused', () => {
  // It was stored as nothing at all.
  const table = new Store().table('t', { keys: 'view', values: 'view' })
  const key = new Uint8Array([1])
  for (const View of [Uint8Array, Int32Array, DataView]) {
    const shrunk = new ArrayBuffer(16, { maxByteLength: 16 })
    const outside = new View(shrunk, 8)
    shrunk.resize(4)
    const moved = new ArrayBuffer(8)
    const detached = new View(moved)
    structuredClone(moved, { transfer: [moved] })
    for (const gone of [outside, detached]) {
      assert.throws(() => table.set(key, gone), code('TYPE'))
      assert.throws(() => table.set(gone, key), code('TYPE'))
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
    const child = here('children/short-memory.cjs')
    const command = `ulimit -v 1300000 && exec "${process.execPath}" --max-old-space-size=100 "${child}" ${way}`
    const { stdout, stderr, status } = spawnSync('sh', ['-c', command], { encoding: 'utf8' })
    assert.deepEqual([stdout, status], ['TWINDEX_MEMORY_LIMIT\n', 0], stderr)
  })
}
