// Caches in bytes, which every language reads.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { load } from 'twindex-wasm'

const { Cache, Store } = await load()
const golden = readFileSync(new URL('../../../conformance/golden/version-2-cache.twx', import.meta.url))

const code = (name) => ({ code: `TWINDEX_${name}` })

test('it starts warm', async () => {
  const cache = new Cache({ max: 1000, ttl: 3_600_000 })
  for (let number = 0; number < 300; number++) cache.set(`page/${number}`, { number })
  cache.set('brief', 1, { ttl: 5 })
  cache.set('ever', 2, { ttl: 0 })
  const dump = await cache.dump()
  while (cache.has('brief')) await sleep(1)
  // Also into another instance of the module, which has not seen the time yet.
  const other = await load(readFileSync(new URL('../twindex.wasm', import.meta.url)))
  for (const loaded of [await Cache.load(dump), Cache.loadSync(dump), other.Cache.loadSync(dump)]) {
    assert.deepEqual([loaded.max, loaded.maxSize, loaded.ttl], [1000, undefined, 3_600_000])
    assert.deepEqual([loaded.size, loaded.store, loaded.has('brief')], [301, undefined, false])
    for (let number = 0; number < 300; number++) assert.deepEqual(loaded.get(`page/${number}`), { number })
    assert.equal(loaded.getRemainingTTL('ever'), Number.POSITIVE_INFINITY)
    const left = loaded.getRemainingTTL('page/7')
    assert.ok(left > 3_000_000 && left < 3_600_000, `${left}`)
  }
})

test('a smaller cache keeps what was asked for', () => {
  const cache = new Cache({ max: 4000, keys: 'int', values: 'str', ttl: 60_000 })
  for (let number = 0; number < 4000; number++) cache.set(number, 'x')
  const favourites = Array.from({ length: 200 }, (_, number) => number)
  for (let round = 0; round < 3; round++) cache.selectMany(favourites)
  const dump = cache.dumpSync()
  const kept = (small) => favourites.filter((number) => small.has(number)).length
  const small = Cache.loadSync(dump, { max: 1000, ttl: 30_000 })
  assert.deepEqual([small.max, small.ttl, small.codecs], [1000, 30_000, { keys: 'int', values: 'str' }])
  assert.ok(small.size <= 1000 && kept(small) > 180)
  const bytes = Cache.loadSync(dump, { maxSize: 100_000, keys: 'int' })
  assert.deepEqual([bytes.max, bytes.maxSize, bytes.ttl], [undefined, 100_000, 60_000])
  assert.ok(bytes.memory <= 100_000 && kept(bytes) > 180)
})

test('a cache is loaded into a store', async () => {
  const words = new Store().cache('words', { max: 10, values: 'json' })
  words.set('a', { one: 1 })
  const dump = words.dumpSync()
  const store = new Store()
  const loaded = await store.loadCache('warm', dump)
  assert.deepEqual(
    [loaded.name, loaded.codecs, loaded.store],
    ['warm', { keys: 'str', values: 'json' }, store],
  )
  assert.deepEqual([loaded.get('a'), store.cache('warm').get('a')], [{ one: 1 }, { one: 1 }])
  store.table('table')
  for (const name of ['warm', 'table']) {
    assert.throws(() => store.loadCacheSync(name, dump), code('NAME_IN_USE'))
  }
  assert.throws(() => store.loadCacheSync('other', dump, { values: 'msgpack' }), code('WRONG_CODEC'))
  assert.throws(() => store.loadCacheSync('other', dump, { maxSize: 1000 }), code('MEMORY_LIMIT'))
  assert.deepEqual(store.caches(), ['warm'])
  store.closeSync()
  assert.throws(() => loaded.dumpSync(), code('CLOSED'))
  assert.throws(() => store.loadCacheSync('closed', dump), code('CLOSED'))
})

test('the golden file is read, and what is no cache is refused', async () => {
  const cache = await Cache.load(golden)
  assert.deepEqual([cache.maxSize, cache.codecs], [1 << 20, { keys: 'str', values: 'json' }])
  assert.deepEqual([cache.get('page/8/007'), cache.has('gone'), cache.size], [7, false, 303])
  const no = (what) => ({ ...code('CORRUPT'), message: new RegExp(what) })
  assert.throws(() => Cache.loadSync(new Store().dumpSync()), no('a store, not a cache'))
  assert.throws(() => Store.loadSync(golden), no('a cache, not a store'))
  const few = new Cache({ max: 10 }).set('a', 1).dumpSync()
  for (let length = 0; length < few.length; length++) {
    assert.throws(() => Cache.loadSync(few.subarray(0, length)), code('CORRUPT'))
  }
  for (const wrong of [undefined, null, 1, 'cache.twx', {}]) {
    assert.throws(() => Cache.loadSync(wrong), TypeError)
    await assert.rejects(Cache.load(wrong), TypeError)
  }
  assert.throws(() => Cache.loadSync(few, { max: 1, maxSize: 1 }), RangeError)
})

test('a dropped cache is not dumped', () => {
  const store = new Store()
  const cache = store.cache('c', { max: 10 }).set('a', '1')
  store.dropCache('c')
  // It was dumped as an empty one.
  assert.throws(() => cache.dumpSync(), { ...code('TABLE_DROPPED'), message: /"c"/ })
})
