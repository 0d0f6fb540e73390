// The rounds: a pool of workers, a fresh table, the writes, then the reads.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Store } from 'twindex'
import { STEPS } from './options.js'

const SHARED = 'bench'
const INDEX = { strings: 'hash', sorted: 'sorted', clients: 'hash' }
const VERBS = ['write', 'read', 'update']

/** Workers for one number of threads, all of which run a step at once. */
class Pool {
  #workers

  constructor(threads, keys, valueBytes) {
    const barrier = new Int32Array(new SharedArrayBuffer(8))
    this.#workers = Array.from({ length: threads }, (_, thread) => {
      const workerData = { shared: SHARED, thread, threads, keys, valueBytes, barrier }
      return new Worker(new URL('./worker.js', import.meta.url), { workerData })
    })
  }

  /** Milliseconds from the first worker's start to the last one's end. */
  async run(job) {
    const times = await Promise.all(
      this.#workers.map(async (worker) => {
        worker.postMessage(job)
        const [{ start, end, wrong }] = await once(worker, 'message')
        if (wrong !== undefined) throw new Error(wrong)
        return { start, end }
      }),
    )
    return Math.max(...times.map(({ end }) => end)) - Math.min(...times.map(({ start }) => start))
  }

  async end() {
    await Promise.all(this.#workers.map((worker) => worker.terminate()))
  }
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]
const rounded = (number) => Math.round(number * 1000) / 1000

function result(step, keys, threads, rounds, memory) {
  const milliseconds = median(rounds)
  return {
    step,
    keys,
    threads,
    milliseconds: rounded(milliseconds),
    ops: Math.round((keys / milliseconds) * 1000),
    rounds_ms: rounds.map(rounded),
    bytes_per_pair: null,
    resident_bytes_per_pair: null,
    ...memory,
  }
}

/** One test on one number of threads: its writes, its reads and its updates. */
async function runTest(store, pool, test, threads, { count }, rounds, step) {
  const times = STEPS[test].map(() => [])
  const memory = {}
  for (let round = 0; round < rounds; round++) {
    const table = `${test} ${round}`
    store.table(table, { index: INDEX[test] })
    const job = { test, table, index: INDEX[test] }
    await pool.run({ ...job, verb: 'prepare' })
    const before = process.memoryUsage().rss
    for (const [at, name] of STEPS[test].entries()) {
      times[at].push(await pool.run({ ...job, verb: VERBS[at] }))
      if (at === 0) {
        const grown = process.memoryUsage().rss - before
        if (round === 0 && threads === 1) memory.resident_bytes_per_pair = rounded(Math.max(0, grown) / count)
        memory.bytes_per_pair = rounded(store.memory / count)
      }
      step(name, threads)
    }
    store.dropTable(table)
  }
  return STEPS[test].map((name, at) => result(name, count, threads, times[at], at === 0 ? memory : {}))
}

/** All results, step by step. `step(name, threads)` is called after each. */
export async function runAll({ tests, threads, rounds, valueBytes }, keys, step) {
  const results = []
  for (const test of tests) {
    for (const number of threads) {
      const store = new Store({ shared: SHARED })
      const pool = new Pool(number, keys, valueBytes)
      try {
        results.push(...(await runTest(store, pool, test, number, keys, rounds, step)))
      } finally {
        await pool.end()
        store.close()
      }
    }
  }
  return results
}
