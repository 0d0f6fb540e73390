// Caches: the names of lru-cache, times to live, and one computation at a time. The WebAssembly package runs these too.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { Cache, DELETE, KEEP, Store } from 'twindex'

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
  const cache = new Cache({ max: 100 })
  const page = { title: 'Hello', tags: ['a'] }
  assert.equal(cache.set('/', page).set('n', 1), cache)
  page.title = 'changed'
  assert.deepEqual(cache.get('/'), { title: 'Hello', tags: ['a'] })
  assert.deepEqual(
    [cache.get('absent'), cache.has('/'), cache.has('absent'), cache.size],
    [undefined, true, false, 2],
  )
  assert.deepEqual([cache.max, cache.maxSize, cache.ttl, cache.store], [100, undefined, undefined, undefined])
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
  assert.equal(inspect(cache), "Cache { name: 'cache', size: 0, keys: 'str', values: 'msgpack' }")
})

test('it has the verbs of a table', () => {
  const cache = new Store().cache('c', { max: 100, values: 'int' })
  assert.deepEqual([cache.insert('a', 1), cache.insert('a', 2), cache.replace('b', 2)], [true, false, false])
  assert.deepEqual([cache.upsert('b', 2), cache.replace('b', 3), cache.select('b')], [true, true, 3])
  assert.deepEqual([cache.increment('b', 4), cache.increment('n', 5n)], [7, 5n])
  assert.deepEqual([cache.compareAndSwap('b', 7, 8), cache.compareAndSwap('b', 7, 9)], [true, false])
  const changes = [(value) => value + 1, () => KEEP, (value) => (value === 9 ? DELETE : 0)]
  assert.deepEqual(
    changes.map((change) => cache.alter('b', change)),
    [true, false, true],
  )
  assert.equal(cache.contains('b'), false)
  assert.deepEqual(cache.upsertMany(new Map(Object.entries({ x: 1, y: 2 })), { ttl: 60_000 }), [true, true])
  assert.deepEqual(cache.selectMany(['x', 'z', 'y']), [1, undefined, 2])
  assert.deepEqual(cache.deleteMany(new Set(['x', 'z'])), [true, false])
  assert.ok(cache.getRemainingTTL('y') <= 60_000)
})

test('a cache takes keys and values of every codec', () => {
  const store = new Store()
  const tuples = store.cache('tuples', { max: 10, keys: 'tuple', values: 'bytes' })
  tuples.set(['a', 1], Buffer.from('x'.repeat(10_000)))
  assert.equal(tuples.get(['a', 1]).length, 10_000)
  assert.deepEqual([...tuples.keys()], [['a', 1]])
  const dates = {
    name: 'iso-date',
    encode: (date) => date.toJSON(),
    decode: (text) => new Date(text),
    format: 'str',
  }
  const own = store.cache('own', { max: 10, keys: 'bigint', values: dates })
  own.set(1n, new Date(0))
  assert.deepEqual([...own], [[1n, new Date(0)]])
  assert.deepEqual(own.codecs, { keys: 'int', values: 'iso-date' })
})

test('verbs on many: more than cross at once, of every kind of item', async () => {
  const store = new Store()
  const numbers = Array.from({ length: 1000 }, (_, n) => n)
  const texts = store.cache('texts', { max: 2000 })
  const bytes = store.cache('bytes', { max: 2000, keys: 'view', values: 'view' })
  const key = (n) => Uint8Array.of(n >> 8, n)
  assert.equal(texts.upsertMany(numbers.map((n) => [`k${n}`, `v${n}`])).length, 1000)
  assert.ok(bytes.upsertMany(numbers.map((n) => [key(n), new Uint8Array(n)])).every(Boolean))
  assert.deepEqual([texts.size, bytes.size], [1000, 1000])
  const [names, values] = ['k', 'v'].map((start) => numbers.map((n) => `${start}${n}`))
  assert.deepEqual(texts.selectMany(names), values)
  const lengths = Array.from(bytes.selectMany(numbers.map(key)), (value) => value.length)
  assert.deepEqual(lengths, numbers)
  assert.deepEqual(bytes.deleteMany([key(1), key(2000), key(1)]), [true, false, false])
  assert.deepEqual([texts.upsertMany([]), texts.selectMany([]), texts.deleteMany([])], [[], [], []])
  // All arguments are checked before the first write.
  assert.throws(() => texts.upsertMany([['new', 'x'], ['other']]), code('TYPE'))
  assert.throws(() => texts.upsertMany([['new', 'x']], { ttl: -1 }), code('RANGE'))
  assert.equal(texts.has('new'), false)
  // What is being computed is older than what is written meanwhile, also where the argument began it.
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
  await store.close()
  assert.throws(() => texts.upsertMany([['a', 'b']]), code('CLOSED'))
  assert.throws(() => texts.selectMany(['a']), code('CLOSED'))
})

test('there are never more pairs than max, nor bytes than maxSize', () => {
  const pairs = new Cache({ max: 10 })
  const bytes = new Store().cache('c', { maxSize: 500_000, values: 'view' })
  for (let n = 0; n < 10_000; n++) {
    pairs.set(`k${n}`, n)
    bytes.set(`k${n}`, new Uint8Array(100))
    assert.ok(pairs.size <= 10)
    assert.equal(pairs.get(`k${n}`), n)
  }
  assert.ok(bytes.memory <= 500_000 && bytes.memory > 450_000, `${bytes.memory} bytes`)
  assert.deepEqual([bytes.max, bytes.maxSize], [undefined, 500_000])
  assert.equal(pairs.stats().evictions, 9_990)
  assert.throws(() => bytes.set('large', new Uint8Array(1_000_000)), code('MEMORY_LIMIT'))
})

test('a pair is shown until its time to live is over, and no longer', async () => {
  const cache = new Cache({ max: 100, ttl: 3_600_000 })
  cache.set('default', 1).set('short', 2, { ttl: 20 }).set('ever', 3, { ttl: 0 })
  assert.equal(cache.ttl, 3_600_000)
  assert.ok(cache.getRemainingTTL('default') > 3_000_000)
  assert.deepEqual(
    [cache.getRemainingTTL('ever'), cache.getRemainingTTL('absent')],
    [Number.POSITIVE_INFINITY, 0],
  )
  await expire(cache, 'short')
  assert.deepEqual([cache.get('short'), cache.peek('short')], [undefined, undefined])
  assert.deepEqual([...cache.keys()].sort(), ['default', 'ever'])
  assert.equal(cache.insert('short', 5), true)
  assert.equal(cache.touch('short', 60_000), true)
  assert.ok(cache.getRemainingTTL('short') <= 60_000)
  assert.deepEqual([cache.touch('ever'), cache.touch('absent', 1)], [true, false])
  assert.ok(cache.getRemainingTTL('ever') <= 3_600_000)
  assert.equal(cache.stats().expirations, 1)
})

test('hits and misses are counted', () => {
  const cache = new Cache({ max: 10 })
  cache.set('a', 1)
  cache.get('a')
  cache.get('b')
  cache.has('a')
  cache.peek('b')
  assert.deepEqual(cache.stats(), { hits: 1, misses: 1, writes: 1, evictions: 0, expirations: 0 })
})

test('wrong options and arguments are refused, and change nothing', () => {
  const store = new Store()
  store.table('t')
  const cache = store.cache('c', { max: 1 })
  for (const open of [(options) => new Cache(options), (options) => store.cache('new', options)]) {
    for (const [options, error] of [
      [{}, code('RANGE')],
      [{ max: 1, maxSize: 1e6 }, code('RANGE', { message: /not both/ })],
      [{ max: 0 }, code('RANGE')],
      [{ max: 1, maxAge: 1 }, code('RANGE', { message: /maxAge/ })],
      [{ max: 1, ttl: -1 }, code('RANGE', { message: /-1/ })],
      [{ max: '1' }, code('TYPE')],
      [{ max: 1, fetchMethod: 1 }, code('TYPE')],
      [{ max: 1, values: 'yaml' }, code('RANGE')],
      [{ max: 1.5 }, code('RANGE', { message: /a whole number from 0 on, not 1.5/ })],
      [{ max: 2 ** 53 }, code('RANGE', { message: /at most 9007199254740991, not / })],
      [{ max: Number.POSITIVE_INFINITY }, code('RANGE', { message: /at most 9007199254740991, not / })],
      [{ maxSize: 100 }, code('MEMORY_LIMIT')],
    ])
      assert.throws(() => open(options), error)
  }
  for (const [use, error] of [
    [() => store.cache('t', { max: 1 }), code('NAME_IN_USE')],
    [() => store.table('c'), code('NAME_IN_USE')],
    [() => store.cache('c', { values: 'int' }), code('WRONG_CODEC')],
    [() => cache.set(1, 'a'), code('TYPE')],
    [() => cache.set('a', 1), code('TYPE')],
    [() => cache.get(1), code('TYPE')],
    [() => cache.set('a', 'b', { ttl: '1' }), code('TYPE')],
    [() => cache.set('a', 'b', { ttl: Number.NaN }), code('RANGE')],
    [() => cache.upsertMany([['a', 'b'], ['c']]), code('TYPE')],
  ])
    assert.throws(use, error)
  assert.equal(cache.size, 0)
})

test('a store finds its caches by name, and closes them with itself', () => {
  const store = new Store()
  const cache = store.cache('c', { max: 10, keys: 'int', values: 'json', ttl: 1000 })
  cache.set(1, { a: null })
  const again = store.cache('c')
  assert.deepEqual([again.get(1), again.max, again.ttl, again.store], [{ a: null }, 10, 1000, store])
  assert.deepEqual([store.caches(), store.tables()], [['c'], []])
  assert.deepEqual([store.dropCache('c'), store.dropCache('c')], [true, false])
  assert.throws(() => cache.set(1, 1), code('TABLE_DROPPED'))
  const other = store.cache('other', { max: 10 })
  other.set('a', 'b')
  const walk = other.entries()
  store.closeSync()
  for (const use of [() => other.get('a'), () => other.size, () => other.stats(), () => walk.next()])
    assert.throws(use, code('CLOSED'))
})

test('fetch computes once for all that ask meanwhile', async () => {
  const calls = []
  const cache = new Cache({
    max: 100,
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

test('all handles of a cache share one computation', async () => {
  const store = new Store()
  const [one, two] = [store.cache('c', { max: 10 }), store.cache('c')]
  let runs = 0
  const compute = async () => `run ${++runs}`
  const all = [one, two, one].map((cache) => cache.getOrCompute('a', compute))
  assert.deepEqual(await Promise.all(all), Array(3).fill('run 1'))
  assert.equal(await two.getOrCompute('a', compute), 'run 1')
  assert.equal(await two.getOrCompute('b', () => 'at once', { ttl: 5000 }), 'at once')
  assert.ok(one.getRemainingTTL('b') <= 5000)
  const small = store.cache('small', { maxSize: 100_000 })
  assert.equal((await small.getOrCompute('large', () => 'x'.repeat(200_000))).length, 200_000)
  assert.equal(small.has('large'), false)
  for (const wrong of [1, () => 1]) await assert.rejects(one.getOrCompute('c', wrong), code('TYPE'))
})

test('what is written or deleted meanwhile, by any handle and verb, is newer than what is being computed', async () => {
  const store = new Store()
  const cache = store.cache('c', { max: 10, values: 'int' })
  const bytes = store.cache('c', { keys: 'view', values: 'view' })
  const key = new TextEncoder().encode('ä')
  const writes = [
    [() => cache.set('ä', 7), 7],
    [() => cache.increment('ä', 100), 100],
    [() => cache.alter('ä', () => 5), 5],
    [() => cache.compareAndSwap('ä', undefined, 6), 6],
    [() => cache.upsertMany([['ä', 8]]), 8],
    [() => bytes.set(key, Uint8Array.of(57)), 9],
    [() => cache.delete('ä'), undefined],
    [() => bytes.deleteMany([key]), undefined],
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
  const fetchMethod = async (_key, old, { context }) => {
    context?.()
    return `${old}, then`
  }
  const cache = new Cache({ max: 10, fetchMethod })
  cache.set('k', 'first')
  assert.equal(await cache.fetch('k', { forceRefresh: true, ttl: 60_000 }), 'first, then')
  assert.ok(cache.getRemainingTTL('k') <= 60_000)
  for (const [change, newest] of [
    [() => cache.set('k', 'newer'), 'newer'],
    [() => cache.delete('k'), undefined],
  ]) {
    await cache.fetch('k', { forceRefresh: true, context: change })
    assert.equal(cache.get('k'), newest)
  }
})

test('a computation ends with its cache', async () => {
  const store = new Store()
  const [first, second] = [computation(), computation()]
  const computed = store.cache('c', { max: 10 }).getOrCompute('k', first.compute)
  await first.begun
  store.dropCache('c')
  const cache = store.cache('c', { max: 10 })
  assert.equal(await cache.getOrCompute('k', () => 'anew'), 'anew')
  first.finish('of the dropped one')
  assert.equal(await computed, 'of the dropped one')
  assert.equal(cache.get('k'), 'anew')
  const last = cache.getOrCompute('other', second.compute)
  await second.begun
  store.closeSync()
  second.finish('of the closed one')
  assert.equal(await last, 'of the closed one')
})

test('a key is stored as it was when its value was asked for, or said to be too long', async () => {
  const cache = new Store().cache('c', { max: 10, keys: 'view', values: 'str' })
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
  const cache = new Cache({ max: 10 })
  const ask = (key, ...others) => cache.getOrCompute(key, () => (others.length > 0 ? ask(...others) : 1))
  await assert.rejects(ask('k', 'k'), code('CIRCLE'))
  await assert.rejects(ask('a', 'b', 'a'), code('CIRCLE'))
  assert.equal(await ask('k', 'b'), 1)
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
