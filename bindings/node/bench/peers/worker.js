// One worker of `workers.js`: writes its part, and then gets and puts it in step with the others.
import { createHash } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { Store } from '../../index.js'

const { peer, path, pairs, thread, threads, barrier } = workerData

async function open() {
  if (peer !== 'lmdb') {
    const table = new Store({ shared: path }).table('t', {
      index: peer.endsWith('sorted') ? 'sorted' : 'hash',
    })
    return {
      get: (key) => table.get(key),
      put: (key, value) => table.set(key, value),
      fill: (work) => work(),
    }
  }
  const lmdb = await import('lmdb')
  const db = lmdb.open({ path, encoding: 'string', noSync: true, mapSize: 2 ** 31 })
  // Two threads write in turns there: many puts are one transaction.
  return {
    get: (key) => db.get(key),
    put: (key, value) => db.put(key, value),
    fill: (work) => db.transactionSync(work),
  }
}

/** Returns once all workers are here. */
function meet() {
  const round = Atomics.load(barrier, 1)
  if (Atomics.add(barrier, 0, 1) + 1 < threads) {
    Atomics.wait(barrier, 1, round)
    return
  }
  Atomics.store(barrier, 0, 0)
  Atomics.add(barrier, 1, 1)
  Atomics.notify(barrier, 1)
}

const store = await open()
const keys = []
for (let at = thread; at < pairs; at += threads)
  keys.push(createHash('md5').update(String(at)).digest('hex').slice(0, 16))
const CHUNK = 1000

function put(value) {
  for (let from = 0; from < keys.length; from += CHUNK) {
    store.fill(() => {
      for (let at = from; at < Math.min(from + CHUNK, keys.length); at++) store.put(keys[at], value)
    })
  }
}

function get() {
  let length = 0
  for (const key of keys) length += store.get(key).length
  if (length !== 16 * keys.length) throw new Error('a value is missing')
}

/** When a step began and ended, on the one clock of the process. */
function time(work) {
  meet()
  const start = Number(process.hrtime.bigint())
  work()
  return [start, Number(process.hrtime.bigint())]
}

put('0123456789abcdef')
get()
parentPort.postMessage({ get: time(get), put: time(() => put('fedcba9876543210')) })
