// A process that the system refuses memory.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { here } from './helpers.js'

for (const way of ['set', 'sorted', 'upsertMany', 'tables', 'batch', 'transaction', 'dump']) {
  test(`short memory is an error (${way})`, { skip: process.platform !== 'linux' }, () => {
    // The process ended: "memory allocation failed", "terminate called after throwing an instance of 'std::bad_alloc'".
    const child = here('children/short-memory.cjs')
    const command = `ulimit -v 1300000 && exec "${process.execPath}" --max-old-space-size=100 "${child}" ${way}`
    const { stdout, stderr, status } = spawnSync('sh', ['-c', command], { encoding: 'utf8' })
    assert.deepEqual([stdout, status], ['TWINDEX_MEMORY_LIMIT\n', 0], stderr)
  })
}
