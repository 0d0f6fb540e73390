// A thread that works on the shared store of its `workerData`, until it is done or ended.
import { parentPort, workerData } from 'node:worker_threads'
import { Store } from 'twindex'

const { shared, table: name, options, from, to, forever } = workerData
const store = new Store({ shared })
const table = store.table(name, options)

let inserted = 0
for (let i = from; i < to; i++) inserted += table.insert(`key-${i}`, `value-${i}`)
table.increment('sum', inserted)
parentPort.postMessage({ inserted, size: table.size })

for (let i = 0; forever; i++) {
  table.upsertMany([
    [`busy-${i % 100}`, 'x'.repeat(i % 2000)],
    ['now', String(i)],
  ])
  for (const _ of table) if (Math.random() < 0.1) break
}
