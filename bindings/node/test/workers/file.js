// A thread that opens the file of its `workerData` and writes to it, until it is done or ended.
import { parentPort, workerData } from 'node:worker_threads'
import { openSync } from 'twindex'

const { path, durability, from, to, forever } = workerData
const store = openSync(path, { durability })
const table = store.table('t', { index: 'sorted' })
for (let i = from; i < to; i++) table.insert(`key-${i}`, `value-${i}`)
parentPort.postMessage(table.size)
for (let i = 0; forever; i++) {
  table.set(`busy-${i % 100}`, 'x'.repeat(i % 2000))
  if (i % 10 === 0) store.batch((batch) => batch.set(table, 'one', `${i}`).set(table, 'two', `${i}`))
}
