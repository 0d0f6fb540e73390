// What caches of every language must do alike.
import { test } from 'node:test'
import * as twindex from 'twindex'
import { Runner, read, timed } from '../../../conformance/vectors.js'

const ofCaches = {
  stats({ cache }) {
    const { rejected, ...stats } = cache.stats()
    return stats
  },
}

for (const { name, options, steps } of read('caches.json').cases) {
  test(name, async () => {
    // It closes a store at its end.
    const runner = new Runner(new twindex.Store(), 'bytes', twindex, ofCaches)
    const codecs = { keys: 'bytes', values: 'bytes' }
    const sizes = { max: options.max, capacity: options.bytes }
    runner.cache = new twindex.Cache({ ...codecs, ...sizes, ...timed(options)[0] })
    runner.tables.set('t', runner.cache)
    await runner.checkAll(steps)
  })
}
