// Counts visits in a cluster of Node processes: node cluster-readers.js visits.twx 4 [PORT]
//
// The primary is the one process that writes; each worker reads from a follower of its own, and sends the primary what is to be
// written. GET shows how often a page was visited, POST counts a visit.
import cluster from 'node:cluster'
import { createServer } from 'node:http'
import { open } from 'twindex'

const [path, workers, port = '8000'] = process.argv.slice(2)

async function primary() {
  const store = await open(path)
  const visits = store.table('visits', { values: 'int' })
  const verbs = { visit: (page) => visits.increment(page) }
  cluster.on('message', (worker, { number, verb, args }) => {
    worker.send({ number, answer: verbs[verb](...args) })
  })
  // A worker that died is replaced: nothing is lost with it.
  cluster.on('exit', (worker) => {
    if (!worker.exitedAfterDisconnect) cluster.fork()
  })
  let left = Number(workers)
  cluster.on('listening', (_, { port }) => {
    if (--left === 0) console.log(`listening on http://127.0.0.1:${port}`)
  })
  while (Object.keys(cluster.workers).length < Number(workers)) cluster.fork()
}

/** Asks the primary, and resolves to its answer. */
function asker() {
  const waiting = new Map()
  process.on('message', ({ number, answer }) => {
    waiting.get(number)(answer)
    waiting.delete(number)
  })
  let last = 0
  return (verb, ...args) =>
    new Promise((resolve) => {
      const number = ++last
      waiting.set(number, resolve)
      process.send({ number, verb, args })
    })
}

async function worker() {
  const store = await open(path, { readOnly: true })
  await store.follow()
  const ask = asker()
  const server = createServer(async (request, response) => {
    if (request.method === 'POST') {
      await ask('visit', request.url)
      // So that this worker shows it at once. The others do within some milliseconds.
      await store.refresh()
    }
    const visits = store.table('visits').get(request.url) ?? 0
    response.setHeader('X-Worker', String(process.pid))
    response.end(`${visits}\n`)
  })
  server.listen(Number(port), '127.0.0.1')
}

if (cluster.isPrimary) await primary()
else await worker()
