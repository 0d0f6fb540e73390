// Opens the store in a file, counts in it, and closes it, again and again.
import { parentPort, workerData } from 'node:worker_threads'
import { open } from 'twindex'

const { path, durability, rounds, key } = workerData
for (let round = 0; round < rounds; round++) {
  const store = await open(path, { durability })
  store.table('t').increment(key)
  await store.close()
}
parentPort.postMessage('done')
