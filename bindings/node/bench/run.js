// The rounds: a pool of workers, a fresh table, the writes, then the reads.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { Store } from 'twindex'
import { STEPS, SYSTEMS } from './options.js'

const SHARED = 'bench'
const INDEX = { strings: 'hash', sorted: 'sorted', clients: 'hash' }
const VERBS = ['write', 'read', 'update']

/** Workers for one number of threads, all of which run a step at once. */
class Pool {
  #workers

  constructor(threads, keys, { valueBytes, beside }) {
    const barrier = new Int32Array(new SharedArrayBuffer(8))
    this.#workers = Array.from({ length: threads }, (_, thread) => {
      const workerData = { shared: SHARED, thread, threads, keys, valueBytes, beside, barrier }
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

/** By how much a process of its own grows with each pair. */
function grownBytes(system, count) {
  const script = fileURLToPath(new URL('./peers/child.js', import.meta.url))
  const output = execFileSync(process.execPath, ['--expose-gc', script, system, String(count), 'memory'])
  return rounded(Math.max(0, JSON.parse(output).bytes))
}

function result(step, system, keys, threads, rounds, memory) {
  const milliseconds = median(rounds)
  return {
    step,
    system,
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
async function runTest(store, pool, test, threads, count, options, step) {
  const [own, other] = SYSTEMS[test]
  const system = options.beside ? other : own
  const times = STEPS[test].map(() => [])
  const memory = {}
  for (let round = 0; round < options.rounds; round++) {
    const table = `${test} ${round}`
    const job = { test, table, index: INDEX[test] }
    await pool.run({ ...job, verb: 'prepare' })
    for (const [at, name] of STEPS[test].entries()) {
      times[at].push(await pool.run({ ...job, verb: VERBS[at] }))
      if (at === 0 && !options.beside) memory.bytes_per_pair = rounded(store.memory / count)
      step(name, threads)
    }
    store.dropTable(table)
  }
  // Such keys and values alone are measured.
  const isUsual = options.keysFrom === null && options.keyBytes === 16 && options.valueBytes === 16
  if (threads === 1 && isUsual) memory.resident_bytes_per_pair = grownBytes(system, count)
  const name = options.beside ? other : 'twindex'
  return STEPS[test].map((verb, at) => result(verb, name, count, threads, times[at], at === 0 ? memory : {}))
}

/** All results, step by step. `step(name, threads)` is called after each. */
export async function runAll(options, keys, step) {
  const results = []
  for (const test of options.tests) {
    for (const threads of options.threads) {
      const store = new Store({ shared: SHARED })
      const pool = new Pool(threads, keys, options)
      try {
        results.push(...(await runTest(store, pool, test, threads, keys.count, options, step)))
      } finally {
        await pool.end()
        store.closeSync()
      }
    }
  }
  return results
}
