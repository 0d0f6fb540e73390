// Two workers on one store against one: look-ups, and writes of pairs that are there.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Store } from '../../index.js'

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]

/** Operations a second of so many workers, each on a part of the pairs of its own. */
async function run(peer, path, pairs, threads) {
  const barrier = new Int32Array(new SharedArrayBuffer(8))
  const workers = Array.from(
    { length: threads },
    (_, thread) =>
      new Worker(new URL('./worker.js', import.meta.url), {
        workerData: { peer, path, pairs, thread, threads, barrier },
      }),
  )
  const times = await Promise.all(
    workers.map(
      (worker) =>
        new Promise((resolve, reject) => {
          worker.once('message', resolve)
          worker.once('error', reject)
        }),
    ),
  )
  await Promise.all(workers.map((worker) => worker.terminate()))
  const span = (step) => {
    const [starts, ends] = [times.map((time) => time[step][0]), times.map((time) => time[step][1])]
    return (pairs / (Math.max(...ends) - Math.min(...starts))) * 1e9
  }
  return { get: span('get'), put: span('put') }
}

/** For each library `{ get: [one, two], put: [one, two] }`. */
export async function measureWorkers(pairs, rounds, hasLmdb) {
  const figures = {}
  for (const peer of ['twindex hash', 'twindex sorted', ...(hasLmdb ? ['lmdb'] : [])]) {
    const all = { get: [[], []], put: [[], []] }
    for (let round = 0; round < rounds; round++) {
      for (const threads of [1, 2]) {
        const path = mkdtempSync(join(tmpdir(), 'twindex-peers-'))
        const store = new Store({ shared: path })
        const { get, put } = await run(peer, path, pairs, threads)
        all.get[threads - 1].push(get)
        all.put[threads - 1].push(put)
        store.closeSync()
        rmSync(path, { recursive: true })
      }
    }
    figures[peer] = { get: all.get.map(median), put: all.put.map(median) }
  }
  return figures
}
