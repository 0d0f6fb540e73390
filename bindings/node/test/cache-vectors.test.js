// What caches of every language must do alike.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Store } from 'twindex'

const file = new URL('../../../conformance/caches.json', import.meta.url)
const { cases } = JSON.parse(readFileSync(file, 'utf8'))

/** Bytes from their form in the vectors. */
function decode(value) {
  if (typeof value === 'string') return Buffer.from(value)
  if (Array.isArray(value)) return value.map(decode)
  return typeof value?.repeat === 'string'
    ? Buffer.concat(Array(value.times).fill(Buffer.from(value.repeat, 'hex')))
    : value
}

/** The time to live that a step says, if it does. */
const timed = (step) => ('ttl' in step ? { ttl: step.ttl ?? 0 } : {})

const byKey = ([one], [other]) => Buffer.compare(one, other)

const steps = {
  insert: (cache, step) => cache.insert(decode(step.key), decode(step.value), timed(step)),
  replace: (cache, step) => cache.replace(decode(step.key), decode(step.value), timed(step)),
  upsert: (cache, step) => cache.upsert(decode(step.key), decode(step.value), timed(step)),
  select: (cache, { key }) => cache.select(decode(key)) ?? null,
  peek: (cache, { key }) => cache.peek(decode(key)) ?? null,
  contains: (cache, { key }) => cache.contains(decode(key)),
  delete: (cache, { key }) => cache.delete(decode(key)),
  increment: (cache, { key, by }) => cache.increment(decode(key), by),
  compare_and_swap: (cache, { key, expected, new: next }) =>
    cache.compareAndSwap(decode(key), decode(expected), decode(next)),
  touch: (cache, step) => cache.touch(decode(step.key), timed(step).ttl),
  ttl: (cache, { key }) => cache.getRemainingTTL(decode(key)),
  len: (cache) => cache.size,
  iter: (cache) => [...cache].sort(byKey),
  stats: (cache) => cache.stats(),
  clear: (cache) => cache.clear() ?? null,
  advance: async (_, { ms }) => {
    // A timer may be a part of a millisecond early.
    await sleep(ms + 1)
    return null
  },
  table: (cache, { name }) => (cache.store.table(name) ? null : undefined),
  caches: (cache) => cache.store.caches(),
  drop_cache: (cache, { name }) => cache.store.dropCache(name),
}

async function check(cache, step) {
  const { expect, do: verb } = step
  const run = steps[verb]
  assert.ok(run, `no such step: ${verb}`)
  if (expect?.error !== undefined) {
    await assert.rejects(async () => run(cache, step), { code: expect.error })
    return
  }
  const result = await run(cache, step)
  if (verb === 'ttl') {
    if (expect === null) assert.equal(result, 0)
    else if (expect === 'ever') assert.equal(result, Number.POSITIVE_INFINITY)
    else assert.ok(result > 0 && result <= expect.most, `${result}`)
  } else {
    assert.deepEqual(result, ['stats', 'caches'].includes(verb) ? expect : decode(expect))
  }
}

for (const { name, options, steps: all } of cases) {
  test(name, async () => {
    const cache = new Store().cache('c', {
      ...{ keys: 'bytes', values: 'bytes', max: options.max, maxSize: options.bytes },
      ...timed(options),
    })
    for (const [number, step] of all.entries()) {
      try {
        await check(cache, step)
      } catch (error) {
        error.message = `step ${number}, ${JSON.stringify(step).slice(0, 300)}: ${error.message}`
        throw error
      }
    }
  })
}
