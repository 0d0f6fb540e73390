// A thread that computes values of a cache that threads share: each when it is told to go on.
import { once } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import { Cache } from 'twindex'

const cache = new Cache({ shared: workerData })

async function compute(key) {
  parentPort.postMessage('begun')
  await once(parentPort, 'message')
  const error = new RangeError('of the worker')
  if (key === 'error') throw Object.assign(error, { code: 'E_OWN', left: 7 })
  // What an error has that has no copy stays behind.
  if (key === 'uncloneable') throw Object.assign(error, { name: Symbol('none'), cause: () => {}, left: 7 })
  return 'of the worker'
}

parentPort.on('message', ({ key }) => {
  if (key !== undefined) cache.getOrCompute(key, () => compute(key)).catch(() => {})
})
parentPort.postMessage('ready')
