// A thread that follows a file and reads its changes until it is ended, wherever that is. Half a batch is told to its parent.
import { parentPort, workerData } from 'node:worker_threads'
import { changes, open } from 'twindex'

const store = await open(workerData, { readOnly: true })
await store.follow()

async function read(feed) {
  for await (const batch of feed) {
    const values = batch.changes.map(({ value }) => value)
    if (values.length !== 2 || values[0] !== values[1]) parentPort.postMessage({ half: batch })
    parentPort.postMessage({ read: values[0] })
  }
}

for (let round = 0; ; round++) {
  const feed = round % 2 === 0 ? store.changes() : changes(workerData, store.position)
  const reading = read(feed)
  reading.catch(() => {})
  for (let turn = 0; turn < 20; turn++) {
    await store.refresh()
    store.stats()
  }
  feed.close()
  // A compaction may have come in between.
  await reading.catch((error) => {
    if (error.code !== 'TWINDEX_POSITION_GONE') throw error
  })
}
