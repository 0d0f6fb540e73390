// A thread that fills a cache of ten pairs.
import { workerData } from 'node:worker_threads'
import { Cache } from 'twindex'

const cache = new Cache({ shared: workerData })
for (let n = 0; n < 1000; n++) cache.set(`k${n}`, 1)
