// One cache for all threads of the process, and what becomes of its memory.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { Cache, Store } from 'twindex'

test('all threads have one cache', async () => {
  const store = new Store({ shared: 'cached' })
  const cache = store.cache('c', { maxSize: 30_000_000 })
  const threads = 3
  const workers = Array.from(
    { length: threads },
    (_, at) =>
      new Worker(new URL('./workers/cacher.js', import.meta.url), { workerData: { at, rounds: 3000 } }),
  )
  const reports = await Promise.all(workers.map(async (worker) => (await once(worker, 'message'))[0]))
  await Promise.all(workers.map((worker) => worker.terminate()))
  assert.deepEqual(reports, Array(threads).fill({ wrong: 0, over: 0 }))
  assert.ok(cache.size > 0 && cache.memory <= 30_000_000)
  for (let at = 0; at < threads; at++) assert.equal(cache.get(`last-${at}`), String(at))
  assert.ok(cache.stats().hits > 0)
  store.closeSync()
})

test('what a cache took is given back with it', async () => {
  const before = process.memoryUsage.rss()
  for (let n = 0; n < 200; n++) {
    const cache = new Cache({ maxSize: 4_000_000, values: 'view' })
    for (let key = 0; key < 3; key++) cache.set(`${key}`, new Uint8Array(1_000_000))
    if (n % 10 === 0) {
      global.gc()
      await sleep(0)
    }
  }
  global.gc()
  await sleep(0)
  assert.ok(process.memoryUsage.rss() - before < 300e6)
})
