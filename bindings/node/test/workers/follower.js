// A thread that has the follower of a file: it says how many users it sees whenever it is asked.
import { parentPort, workerData } from 'node:worker_threads'
import { openSync } from 'twindex'

const store = openSync(workerData, { readOnly: true })
const users = store.table('users')
parentPort.on('message', (message) => {
  if (message === 'follow') store.followSync()
  if (message === 'close') {
    store.closeSync()
    parentPort.close()
    return
  }
  parentPort.postMessage(users.size)
})
parentPort.postMessage(users.size)
