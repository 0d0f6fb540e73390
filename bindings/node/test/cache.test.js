// Caches: the names of lru-cache, times to live, and one computation at a time. The WebAssembly package runs these too.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { Cache, DELETE } from 'twindex'

/** Waits until the key is absent. */
async function expire(cache, key) {
  while (cache.has(key)) await sleep(1)
}

const code = (name, more) => ({ code: `TWINDEX_${name}`, ...more })

/** A computation that a test ends: `begun` once it runs, and `finish(value)`. */
function computation() {
  const held = {}
  held.begun = new Promise((begun) => {
    held.compute = () => {
      begun()
      return new Promise((finish) => {
        held.finish = finish
      })
    }
  })
  return held
}

test('it has the face of lru-cache', () => {
  const cache = new Cache({ max: 100, values: 'msgpack' })
  const page = { title: 'Hello', tags: ['a'] }
  assert.equal(cache.set('/', page).set('n', 1), cache)
  page.title = 'changed'
  assert.deepEqual(cache.get('/'), { title: 'Hello', tags: ['a'] })
  assert.deepEqual(
    [cache.get('absent'), cache.has('/'), cache.has('absent'), cache.size],
    [undefined, true, false, 2],
  )
  assert.deepEqual([cache.max, cache.maxEntries, cache.capacity], [100, 100, undefined])
  assert.deepEqual([cache.peek('n'), cache.peek('absent')], [1, undefined])
  assert.deepEqual([...cache.keys()].sort(), ['/', 'n'])
  assert.ok([...cache.values()].includes(1))
  assert.deepEqual(new Map(cache), new Map(cache.entries()))
  cache.forEach((value, key, it) => {
    assert.deepEqual([it, it.get(key)], [cache, value])
  })
  assert.deepEqual([cache.delete('n'), cache.delete('n')], [true, false])
  cache.set('/', undefined)
  assert.equal(cache.size, 0)
  cache.set('a', null)
  assert.deepEqual([cache.get('a'), cache.has('a')], [null, true])
  cache.clear()
  assert.deepEqual([...cache], [])
  assert.equal(String(cache), '[object Cache]')
  assert.equal(inspect(cache), "Cache { size: 0, keys: 'str', values: 'msgpack' }")
})

test('verbs on many: more than cross at once, of every kind of item', async () => {
  const numbers = Array.from({ length: 1000 }, (_, n) => n)
  const texts = new Cache({ max: 2000, values: 'str' })
  const bytes = new Cache({ max: 2000, keys: 'view', values: 'view' })
  const key = (n) => Uint8Array.of(n >> 8, n)
  assert.equal(texts.upsertMany(numbers.map((n) => [`k${n}`, `v${n}`])).length, 1000)
  assert.ok(bytes.upsertMany(numbers.map((n) => [key(n), new Uint8Array(n)])).every(Boolean))
  assert.deepEqual([texts.size, bytes.size], [1000, 1000])
  const [names, values] = ['k', 'v'].map((start) => numbers.map((n) => `${start}${n}`))
  assert.deepEqual(texts.selectMany(names), values)
  const lengths = Array.from(bytes.selectMany(numbers.map(key)), (value) => value.length)
  assert.deepEqual(lengths, numbers)
  assert.deepEqual(bytes.deleteMany([key(1), key(2000), key(1)]), [true, false, false])
  assert.deepEqual(texts.insertMany(Object.entries({ k1: 'x', new1: 'y' })), [false, true])
  assert.deepEqual(texts.replaceMany(Object.entries({ new1: 'z', new2: 'z' }), { ttl: 60_000 }), [
    true,
    false,
  ])
  assert.deepEqual(texts.deleteMany(['new1']), [true])
  assert.deepEqual([texts.upsertMany([]), texts.selectMany([]), texts.deleteMany([])], [[], [], []])
  // All arguments are checked before the first write.
  assert.throws(() => texts.upsertMany([['new', 'x'], ['other']]), code('TYPE'))
  assert.throws(() => texts.upsertMany([['new', 'x']], { ttl: -1 }), code('TTL'))
  assert.equal(texts.has('new'), false)
  // A running computation is older than a write meanwhile, also if the argument began it.
  const compute = (key) => texts.getOrCompute(key, () => 'computed')
  const first = compute('first')
  let second
  function* pairs() {
    yield ['first', 'written']
    second = compute('second')
    yield ['second', 'written']
  }
  texts.upsertMany(pairs())
  const third = compute('third')
  texts.deleteMany(['third'])
  assert.deepEqual(await Promise.all([first, second, third]), Array(3).fill('computed'))
  assert.deepEqual(texts.selectMany(['first', 'second', 'third']), ['written', 'written', undefined])
})

test('a value that does not fit is not kept, and evicts nothing', async () => {
  const cache = new Cache({ capacity: 1 << 20, values: 'view' })
  const pairs = Array.from({ length: 1000 }, (_, n) => [`k${n}`, new Uint8Array(100)])
  assert.ok(cache.upsertMany(pairs).every(Boolean))
  const large = new Uint8Array(2 << 20)
  assert.deepEqual([cache.upsert('k0', large), cache.get('k0').length], [false, 100])
  // As in lru-cache: `set` does not say that the value is too large, so the old one goes.
  assert.equal(cache.set('k1', large).get('k1'), undefined)
  assert.equal(await cache.getOrCompute('large', () => large), large)
  assert.throws(() => cache.alter('k2', () => large), code('NO_ROOM'))
  assert.deepEqual([cache.size, cache.has('large'), cache.stats().rejected], [999, false, 4])
  assert.ok(cache.memory <= 1 << 20)
  cache.shrinkTo(1 << 16)
  assert.ok(cache.memory <= 1 << 16 && cache.size < 999, `${cache.memory} bytes`)
  assert.equal(cache.capacity, 1 << 16)
})

test('an absent pair is told from one that lives for ever', async () => {
  const cache = new Cache({ max: 100, values: 'int' }).set('ever', 3)
  assert.deepEqual([cache.ttl('ever'), cache.ttl('absent')], [Number.POSITIVE_INFINITY, undefined])
  assert.deepEqual(
    ['ever', 'absent'].map((key) => cache.getRemainingTTL(key)),
    [Number.POSITIVE_INFINITY, 0],
  )
  assert.equal(cache.touch('ever', 60_000.5), true)
  assert.ok(cache.ttl('ever') <= 60_001)
})

test('an idle pair expires, and a stale value is returned while one caller computes', async () => {
  const idle = new Cache({ max: 10, timeToIdle: 20 }).set('a', 'b')
  await expire(idle, 'a')
  const cache = new Cache({ max: 10, ttl: 20, staleFor: 60_000 }).set('a', 'old')
  await expire(cache, 'a')
  const held = computation()
  const computed = cache.getOrCompute('a', held.compute)
  await held.begun
  assert.deepEqual([await cache.getOrCompute('a', () => 'other'), cache.get('a')], ['old', undefined])
  held.finish('new')
  assert.deepEqual([await computed, cache.get('a')], ['new', 'new'])
})

test('onEvict is told of each pair that goes by itself, and its errors reach the caller', async () => {
  const told = []
  const cache = new Cache({ max: 10, keys: 'int', values: 'msgpack', onEvict: (...gone) => told.push(gone) })
  for (let n = 0; n < 1000; n++) cache.set(n, { n })
  assert.deepEqual([told.length, cache.size], [990, 10])
  for (const [key, value, cause] of told) assert.deepEqual([value, cause], [{ n: key }, 'size'])
  for (const key of cache.keys())
    assert.equal(
      told.some(([gone]) => gone === key),
      false,
    )
  cache.delete(cache.keys().next().value)
  cache.clear()
  cache.set(1, 1, { ttl: 1 })
  await expire(cache, 1)
  while (told.length === 990) {
    cache.get(0)
    await sleep(1)
  }
  assert.deepEqual(told.slice(990), [[1, 1, 'expired']])
  const wrong = new Cache({
    max: 1,
    values: 'int',
    onEvict(key) {
      if (key === 'a') throw new Error('mine')
      told.push(key)
    },
  })
  wrong.set('a', 1)
  assert.throws(() => wrong.set('b', 2), /mine/)
  wrong.set('c', 3)
  assert.deepEqual([wrong.get('c'), told.at(-1)], [3, 'b'])
})

test('all that a write evicts is told before it returns, whatever the listener throws', async () => {
  const told = []
  const failing = new Cache({
    max: 2,
    values: 'int',
    onEvict(key) {
      told.push(key)
      throw new Error(`mine, ${key}`)
    },
  })
  const many = () => failing.upsertMany(Object.entries({ a: 1, b: 2, c: 3, d: 4 }))
  assert.throws(
    many,
    ({ errors }) => errors.length === 2 && errors.every(({ message }) => /mine/.test(message)),
  )
  await sleep(1)
  assert.deepEqual([told.length, failing.size], [2, 2])
  assert.throws(
    () =>
      failing.upsertMany([
        ['e', 5],
        ['f', 'no number'],
      ]),
    { code: 'TWINDEX_TYPE' },
  )
  assert.equal(failing.has('e'), false)
})

test('onEvict is called before any write returns, and what it throws is an error of that write', async () => {
  for (const write of [
    (cache) => cache.set('new', 1),
    (cache) => cache.insert('new', 1),
    (cache) => cache.upsertMany([['new', 1]]),
    (cache) => cache.insertMany([['new', 1]]),
    (cache) => cache.increment('new'),
    (cache) => cache.alter('new', () => 1),
    (cache) => cache.compareAndSwap('new', undefined, 1),
    (cache) => cache.getOrCompute('new', () => 1),
    (cache) => cache.fetch('new'),
  ]) {
    const told = []
    const fetchMethod = async () => 1
    const options = { max: 1, values: 'int', fetchMethod }
    const cache = new Cache({ ...options, onEvict: (...gone) => told.push(gone) })
    cache.set('old', 7)
    await write(cache)
    assert.deepEqual([told, cache.get('new')], [[['old', 7, 'size']], 1], String(write))
    const throwing = new Cache({
      ...options,
      onEvict() {
        throw new Error('mine')
      },
    })
    throwing.set('old', 7)
    await assert.rejects(async () => write(throwing), /mine/)
    assert.equal(throwing.get('new'), 1, String(write))
  }
  // Of all that wait for a value, the one that computes it writes it.
  const cache = new Cache({
    max: 1,
    values: 'int',
    onEvict() {
      throw new Error('mine')
    },
  })
  cache.set('old', 7)
  const [computing, waiting] = [1, 2].map(() => cache.getOrCompute('new', () => 1))
  await assert.rejects(computing, /mine/)
  assert.equal(await waiting, 1)
})

test('wrong options and arguments are refused, and change nothing', () => {
  for (const [options, error] of [
    [{}, code('CAPACITY', { name: 'RangeError' })],
    [{ max: 0 }, code('CAPACITY')],
    [{ capacity: 100 }, code('CAPACITY', { message: /65536/ })],
    [{ max: 1, maxEntries: 2 }, code('RANGE', { message: /not both/ })],
    [{ max: Number.NaN }, code('RANGE', { message: /not NaN/ })],
    [{ maxSize: 1e6 }, code('RANGE', { message: /capacity/ })],
    [{ max: 1, dispose() {} }, code('RANGE', { message: /onEvict/ })],
    [{ max: 1, maxAge: 1 }, code('RANGE', { message: /maxAge/ })],
    ...[0, -1, Number.NaN, 1e15].map((ttl) => [{ max: 1, ttl }, code('TTL', { name: 'RangeError' })]),
    [{ max: 1, staleFor: 0 }, code('TTL')],
    [{ max: 1, timeToIdle: -1 }, code('TTL')],
    [{ max: '1' }, code('TYPE')],
    [{ max: 1, ttl: '1' }, code('TYPE')],
    [{ max: 1, fetchMethod: 1 }, code('TYPE')],
    [{ max: 1, onEvict: 1 }, code('TYPE')],
    [{ max: 1, values: 'yaml' }, code('RANGE')],
    [{ max: 1.5 }, code('RANGE', { message: /a whole number from 0 on, not 1.5/ })],
    [{ max: 2 ** 53 }, code('RANGE', { message: /at most 9007199254740991, not / })],
  ])
    assert.throws(() => new Cache(options), error)
  const cache = new Cache({ max: 1, values: 'str' })
  for (const [use, error] of [
    [() => cache.set(1, 'a'), code('TYPE')],
    [() => cache.set('a', 1), code('TYPE')],
    [() => cache.get(1), code('TYPE')],
    [() => cache.set('a', 'b', { ttl: '1' }), code('TYPE')],
    [() => cache.set('a', 'b', { ttl: 0 }), code('TTL')],
    [() => cache.touch('a', Number.NaN), code('TTL')],
    [() => cache.shrinkTo(1), code('CAPACITY')],
    [
      () => new Cache({ max: 1, values: 'msgpack' }).increment('n'),
      code('TYPE', { message: /msgpack values are not.*'int'/ }),
    ],
    [() => cache.upsertMany([['a', 'b'], ['c']]), code('TYPE')],
  ])
    assert.throws(use, error)
  assert.equal(cache.size, 0)
})

test('fetch computes once for all that ask meanwhile', async () => {
  const calls = []
  const cache = new Cache({
    max: 100,
    values: 'json',
    fetchMethod: async (key, old, { options, context }) => {
      calls.push([key, old, options.ttl, context])
      await sleep(1)
      if (key === 'bad') throw new Error('mine')
      return key === 'none' ? undefined : { key }
    },
  })
  const all = Array.from({ length: 5 }, () => cache.fetch('a', { ttl: 60_000, context: 7 }))
  assert.deepEqual(await Promise.all(all), Array(5).fill({ key: 'a' }))
  assert.deepEqual(await cache.fetch('a'), { key: 'a' })
  assert.deepEqual(calls, [['a', undefined, 60_000, 7]])
  assert.ok(cache.getRemainingTTL('a') <= 60_000)
  await cache.fetch('a', { forceRefresh: true })
  assert.deepEqual(calls[1], ['a', { key: 'a' }, undefined, undefined])
  const failed = await Promise.allSettled([cache.fetch('bad'), cache.fetch('bad')])
  for (const { reason } of failed) assert.equal(reason.message, 'mine')
  assert.equal(await cache.fetch('none'), undefined)
  assert.deepEqual([cache.has('bad'), cache.has('none'), calls.length], [false, false, 4])
  assert.equal(await new Cache({ max: 1 }).fetch('a'), undefined)
})

test('fetchMethod sees the time to live and may set another, as in lru-cache', async () => {
  const seen = []
  const fetchMethod = (key, _old, { options }) => {
    seen.push(options.ttl)
    options.ttl = key === 'bad' ? -1 : 60_000
    return key
  }
  const cache = new Cache({ max: 10, ttl: 500, fetchMethod })
  await cache.fetch('a')
  await cache.fetch('a', { ttl: 7, forceRefresh: true })
  assert.ok(cache.ttl('a') > 500)
  await assert.rejects(cache.fetch('bad'), code('TTL'))
  assert.deepEqual([seen, cache.has('bad')], [[500, 7, 500], false])
})

test('getOrCompute computes once for all that ask meanwhile', async () => {
  const cache = new Cache({ max: 10, values: 'str' })
  let runs = 0
  const compute = async () => `run ${++runs}`
  const all = [1, 2, 3].map(() => cache.getOrCompute('a', compute))
  assert.deepEqual(await Promise.all(all), Array(3).fill('run 1'))
  assert.equal(await cache.getOrCompute('a', compute), 'run 1')
  assert.equal(await cache.getOrCompute('b', () => 'at once', { ttl: 5000 }), 'at once')
  assert.ok(cache.ttl('b') <= 5000)
  for (const wrong of [1, () => 1]) await assert.rejects(cache.getOrCompute('c', wrong), code('TYPE'))
  const failure = new Error('mine')
  const failed = [1, 2].map(() => cache.getOrCompute('d', () => Promise.reject(failure)))
  for (const { reason } of await Promise.allSettled(failed)) assert.equal(reason, failure)
  assert.equal(cache.has('d'), false)
})

test('what any verb writes or deletes meanwhile is newer than what is being computed', async () => {
  const cache = new Cache({ max: 10, values: 'int' })
  const writes = [
    [() => cache.set('ä', 7), 7],
    [() => cache.increment('ä', 100), 100],
    [() => cache.alter('ä', () => 5), 5],
    [() => cache.compareAndSwap('ä', undefined, 6), 6],
    [() => cache.upsertMany([['ä', 8]]), 8],
    [() => cache.delete('ä'), undefined],
    [() => cache.deleteMany(['ä']), undefined],
    [() => cache.set('ä', 1).compareAndSwap('ä', 1, undefined), undefined],
    [() => cache.set('ä', 1).alter('ä', () => DELETE), undefined],
    [() => cache.clear(), undefined],
  ]
  for (const [write, newest] of writes) {
    cache.clear()
    const held = computation()
    const computed = cache.getOrCompute('ä', held.compute)
    await held.begun
    write()
    // What asks after a deletion does not get what was computed before it.
    if (newest === undefined) assert.equal(await cache.getOrCompute('ä', () => 3), 3)
    held.finish(2)
    assert.deepEqual([await computed, cache.get('ä')], [2, newest ?? 3], String(write))
  }
})

test('a refresh replaces what it saw, and nothing newer', async () => {
  const fetchMethod = async (_key, old, { context }) => context?.() ?? `${old}, then`
  const cache = new Cache({ capacity: 1 << 16, fetchMethod })
  cache.set('k', 'first')
  assert.equal(await cache.fetch('k', { forceRefresh: true, ttl: 60_000 }), 'first, then')
  assert.ok(cache.getRemainingTTL('k') <= 60_000)
  for (const [change, newest] of [
    [() => void cache.set('k', 'newer'), 'newer'],
    [() => void cache.delete('k'), undefined],
  ]) {
    await cache.fetch('k', { forceRefresh: true, context: change })
    assert.equal(cache.get('k'), newest)
  }
  // A value that is too large is returned, and the old one is removed too.
  const large = 'x'.repeat(1e6)
  assert.equal(await cache.set('k', 'old').fetch('k', { forceRefresh: true, context: () => large }), large)
  assert.equal(cache.has('k'), false)
})

test('a key is stored as it was when its value was asked for, or said to be too long', async () => {
  const cache = new Cache({ max: 10, keys: 'view', values: 'str' })
  const compute = (key) => cache.getOrCompute(key, () => 'computed')
  const key = Uint8Array.of(1)
  const computed = compute(key)
  key[0] = 2
  await computed
  assert.deepEqual([cache.get(Uint8Array.of(1)), cache.has(key)], ['computed', false])
  await assert.rejects(compute(new Uint8Array(130_000)), code('KEY_TOO_LONG'))
  assert.equal(await compute(new Uint8Array(65_535)), 'computed')
})

test('a computation that asks for its own key is refused', async () => {
  const cache = new Cache({ max: 10, values: 'int' })
  const ask = (key, ...others) => cache.getOrCompute(key, () => (others.length > 0 ? ask(...others) : 1))
  await assert.rejects(ask('k', 'k'), code('CIRCLE'))
  await assert.rejects(ask('a', 'b', 'a'), code('CIRCLE'))
  assert.equal(await ask('k', 'b'), 1)
})

test('circles are found in time where many ways lead to a computation', async () => {
  const cache = new Cache({ max: 1000, keys: 'int', values: 'int' })
  const layers = 60
  const held = computation()
  const ask = (key) =>
    cache.getOrCompute(key, async () => {
      const next = 2 * (key >> 1) + 2
      if (next > 2 * layers) return key % 2 === 0 ? held.compute() : 0
      const [one] = await Promise.all([ask(next), ask(next + 1)])
      return one
    })
  const first = ask(0)
  await held.begun
  const late = cache.getOrCompute(-1, () => ask(0))
  await sleep(1)
  held.finish(7)
  assert.deepEqual([await first, await late], [7, 7])
})

test('an aborted fetch rejects, and its computation goes on', async () => {
  const held = computation()
  const cache = new Cache({ max: 10, fetchMethod: held.compute })
  await assert.rejects(cache.fetch('k', { signal: AbortSignal.abort(new Error('mine')) }), /mine/)
  const aborting = new AbortController()
  const aborted = cache.fetch('k', { signal: aborting.signal })
  const patient = cache.fetch('k')
  await held.begun
  aborting.abort(new Error('enough'))
  await assert.rejects(aborted, /enough/)
  held.finish('page')
  assert.deepEqual([await patient, cache.get('k')], ['page', 'page'])
  await assert.rejects(cache.fetch('k', { signal: 1 }), code('TYPE'))
})
