// Opens everything that can be opened on a store of its own, 40 megabytes of it, and keeps it until the thread is ended.
import { parentPort } from 'node:worker_threads'
import { Store } from 'twindex'

const store = new Store()
const table = store.table('t', { index: 'sorted' })
for (let pair = 0; pair < 400; pair++) table.set(`k${pair}`, 'x'.repeat(100_000))
const cursor = table.cursor()
cursor.scanAscNext()
const iterator = table.entries()
iterator.next()
const batch = store.batch().set(table, 'k', 'x'.repeat(100_000))
// Its bytes come when the thread may have been ended.
store.dump()
parentPort.on('message', () => parentPort.postMessage([cursor, iterator, batch].length))
parentPort.postMessage('full')
