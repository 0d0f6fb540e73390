// Ends workers while calls are under way in them, then makes calls of its own. It neither closes its store nor exits.

import { once } from 'node:events'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

import { connect } from '../index.js'

const [url, namespace] = process.argv.slice(2)
const store = await connect(url, { namespace })
const table = await store.table('t')
const write = () => Array.from({ length: 200 }, (_, at) => table.upsert(String(at), 'x'.repeat(1000)))

if (isMainThread) {
  for (let round = 0; round < 5; round++) {
    const worker = new Worker(new URL(import.meta.url), { argv: [url, namespace] })
    await once(worker, 'message')
    await worker.terminate()
  }
  const done = await Promise.all(write())
  console.log(done.every((isDone) => isDone))
} else {
  write()
  await table.select('0')
  write()
  parentPort.postMessage('some have answers by now, and some have not')
}
