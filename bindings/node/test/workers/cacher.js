// A thread that reads and writes a cache that threads share.
import { parentPort, workerData } from 'node:worker_threads'
import { Cache } from 'twindex'

const { at, rounds } = workerData
const cache = new Cache({ shared: 'cached' })

let wrong = 0
let over = 0
for (let round = 0; round < rounds; round++) {
  const key = String((round * (at + 7)) % 2000)
  const found = cache.get(key)
  if (found !== undefined && found !== key.repeat(700)) wrong++
  cache.set(key, key.repeat(700), { ttl: round % 5 === 0 ? 1 : Number.POSITIVE_INFINITY })
  if (cache.memory > 30_000_000) over++
}
cache.set(`last-${at}`, String(at))
parentPort.postMessage({ wrong, over })
