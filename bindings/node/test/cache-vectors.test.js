// What caches of every language must do alike.
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as twindex from 'twindex'
import { decode, Runner, read } from '../../../conformance/vectors.js'

/** The time to live that a step says, if it does. */
const timed = (step) => ('ttl' in step ? { ttl: step.ttl ?? Number.POSITIVE_INFINITY } : {})

/** A write, with its time to live. */
const write = ({ cache }, step) => cache[step.do](decode(step.key), decode(step.value), timed(step))

const ofCaches = {
  insert: write,
  replace: write,
  upsert: write,
  touch: ({ cache }, step) => cache.touch(decode(step.key), timed(step).ttl),
  ttl({ cache }, { key, expect }) {
    const left = cache.ttl(decode(key))
    if (expect === 'ever') return left === Number.POSITIVE_INFINITY ? Buffer.from(expect) : left
    return left > 0 && left <= expect.most ? expect : left
  },
  stats({ cache }) {
    const { rejected, ...stats } = cache.stats()
    return stats
  },
  // A timer may be a part of a millisecond early.
  advance: (_, { ms }) => sleep(ms + 1, null),
}

for (const { name, options, steps } of read('caches.json').cases) {
  test(name, async () => {
    // It closes a store at its end.
    const runner = new Runner(new twindex.Store(), 'bytes', twindex, ofCaches)
    const codecs = { keys: 'bytes', values: 'bytes' }
    const sizes = { max: options.max, capacity: options.bytes }
    runner.cache = new twindex.Cache({ ...codecs, ...sizes, ...timed(options) })
    runner.tables.set('t', runner.cache)
    await runner.checkAll(steps)
  })
}
