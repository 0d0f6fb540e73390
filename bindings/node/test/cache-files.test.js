// Caches in files and bytes.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Cache, check, openSync, Store } from 'twindex'

const folder = mkdtempSync(join(tmpdir(), 'twindex-'))
after(() => rmSync(folder, { recursive: true }))
const golden = new URL('../../../conformance/golden/version-2-cache.twx', import.meta.url)

const code = (name) => ({ code: `TWINDEX_${name}` })

test('it starts warm', async () => {
  const path = join(folder, 'pages.twx')
  const cache = new Cache({ max: 1000, ttl: 3_600_000 })
  for (let number = 0; number < 300; number++) cache.set(`page/${number}`, { number })
  cache.set('brief', 1, { ttl: 1 })
  cache.set('ever', 2, { ttl: 0 })
  await cache.save(path)
  while (cache.has('brief')) await sleep(1)
  for (const loaded of [
    await Cache.load(path),
    Cache.loadSync(pathToFileURL(path)),
    await Cache.load(readFileSync(path)),
    Cache.loadSync(readFileSync(path)),
  ]) {
    assert.deepEqual([loaded.max, loaded.maxSize, loaded.ttl], [1000, undefined, 3_600_000])
    assert.deepEqual([loaded.size, loaded.store, loaded.has('brief')], [301, undefined, false])
    for (let number = 0; number < 300; number++) assert.deepEqual(loaded.get(`page/${number}`), { number })
    assert.equal(loaded.getRemainingTTL('ever'), Number.POSITIVE_INFINITY)
    const left = loaded.getRemainingTTL('page/7')
    assert.ok(left > 3_000_000 && left < 3_600_000, `${left}`)
    assert.equal(await loaded.getOrCompute('new', () => 3), 3)
  }
  assert.equal((await check(path)).version, 2)
  assert.deepEqual(readdirSync(folder), ['pages.twx'])
})

test('an aborted load drops what it loaded, and ends no process once its store is closed', async () => {
  const cache = new Cache({ max: 20_000, keys: 'int', values: 'int' })
  for (let number = 0; number < 20_000; number++) cache.set(number, number)
  const dump = cache.dumpSync()
  for (const isClosed of [false, true]) {
    const [store, aborting] = [new Store(), new AbortController()]
    const loading = store.loadCache('c', dump, { signal: aborting.signal })
    aborting.abort(new Error('enough'))
    await assert.rejects(loading, /enough/)
    if (isClosed) await store.close()
    // A promise that rejects with nobody to wait for it fails the test.
    for (let turn = 0; turn < 20; turn++) await sleep(5)
    if (!isClosed) assert.deepEqual(store.caches(), [])
  }
})

test('a smaller cache keeps what was asked for', async () => {
  const cache = new Cache({ max: 4000, keys: 'int', values: 'str', ttl: 60_000 })
  for (let number = 0; number < 4000; number++) cache.set(number, 'x')
  const favourites = Array.from({ length: 200 }, (_, number) => number)
  for (let round = 0; round < 3; round++) cache.selectMany(favourites)
  const dump = await cache.dump()
  assert.deepEqual(cache.dumpSync().length, dump.length)
  const kept = (small) => favourites.filter((number) => small.has(number)).length
  const fetchMethod = () => 'fetched'
  const small = await Cache.load(dump, { max: 1000, ttl: 30_000, fetchMethod })
  assert.deepEqual([small.max, small.ttl, small.codecs], [1000, 30_000, { keys: 'int', values: 'str' }])
  assert.equal(await small.fetch(5000), 'fetched')
  assert.ok(small.size <= 1000 && kept(small) > 180)
  const bytes = Cache.loadSync(dump, { maxSize: 100_000, keys: 'int' })
  assert.deepEqual([bytes.max, bytes.maxSize, bytes.ttl], [undefined, 100_000, 60_000])
  assert.ok(bytes.memory <= 100_000 && kept(bytes) > 180)
})

test('a cache is loaded into a store', async () => {
  const path = join(folder, 'words.twx')
  const words = new Store().cache('words', { max: 10, values: 'json' })
  words.set('a', { one: 1 })
  words.saveSync(path)
  const store = openSync(join(folder, 'app.twx'))
  const loaded = await store.loadCache('warm', path)
  assert.deepEqual(
    [loaded.name, loaded.codecs, loaded.store],
    ['warm', { keys: 'str', values: 'json' }, store],
  )
  assert.deepEqual([loaded.get('a'), store.cache('warm').get('a')], [{ one: 1 }, { one: 1 }])
  assert.deepEqual(
    store.loadCacheSync('raw', words.dumpSync(), { values: 'bytes' }).get('a'),
    Buffer.from('{"one":1}'),
  )
  store.table('table')
  for (const name of ['warm', 'table']) {
    assert.throws(() => store.loadCacheSync(name, path), code('NAME_IN_USE'))
    await assert.rejects(store.loadCache(name, path), code('NAME_IN_USE'))
  }
  assert.throws(() => store.loadCacheSync('other', path, { values: 'msgpack' }), code('WRONG_CODEC'))
  assert.throws(() => store.loadCacheSync('other', path, { maxSize: 1000 }), code('MEMORY_LIMIT'))
  assert.deepEqual(store.caches(), ['raw', 'warm'])
  store.closeSync()
  await assert.rejects(store.loadCache('closed', path), code('CLOSED'))
  assert.throws(() => loaded.saveSync(path), code('CLOSED'))
  assert.throws(() => loaded.dumpSync(), code('CLOSED'))
})

test('the golden file is read', async () => {
  const cache = await Cache.load(golden)
  assert.deepEqual([cache.maxSize, cache.codecs], [1 << 20, { keys: 'str', values: 'json' }])
  assert.equal(cache.get('page/8/007'), 7)
  assert.deepEqual([cache.has('gone'), cache.get(''), cache.size], [false, 'the empty key', 303])
  assert.ok(cache.getRemainingTTL('page/8/007') > 0)
})

test('what is no cache is refused', async () => {
  const cache = new Cache({ max: 10 })
  cache.set('a', 1)
  const dump = cache.dumpSync()
  const no = (what) => ({ ...code('CORRUPT'), message: new RegExp(what) })
  assert.throws(() => Cache.loadSync(new Store().dumpSync()), no('a store, not a cache'))
  assert.throws(() => Store.loadSync(dump), no('a cache, not a store'))
  await assert.rejects(Cache.load(new Store().dumpSync()), no('a store, not a cache'))
  for (let length = 0; length < dump.length; length++) {
    assert.throws(() => Cache.loadSync(dump.subarray(0, length)), code('CORRUPT'))
  }
  const path = join(folder, 'no-store.twx')
  await cache.save(pathToFileURL(path))
  assert.throws(() => openSync(path), no('a cache, not a store'))
  assert.throws(() => Cache.loadSync(join(folder, 'missing.twx')), { ...code('IO'), message: /missing\.twx/ })
  assert.throws(() => cache.saveSync(join(folder, 'none', 'cache.twx')), code('IO'))
  await assert.rejects(cache.save(join(folder, 'none', 'cache.twx')), code('IO'))
  for (const wrong of [undefined, null, 1, {}, [dump]]) {
    assert.throws(() => Cache.loadSync(wrong), TypeError)
    await assert.rejects(Cache.load(wrong), TypeError)
    assert.throws(() => cache.saveSync(wrong), TypeError)
    await assert.rejects(cache.save(wrong), TypeError)
    assert.throws(() => new Store().loadCacheSync('c', wrong), TypeError)
  }
  assert.throws(() => Cache.loadSync(dump, { max: 1, maxSize: 1 }), RangeError)
  assert.throws(() => Cache.loadSync(dump, { signal: AbortSignal.abort() }), RangeError)
  await assert.rejects(Cache.load(dump, { signal: AbortSignal.abort() }), { name: 'AbortError' })
  await assert.rejects(cache.save(path, { signal: AbortSignal.abort() }), { name: 'AbortError' })
})

test('a file outlives the cache that was saved', async () => {
  const path = join(folder, 'outlives.twx')
  const store = new Store()
  const cache = store.cache('c', { max: 10 }).set('a', '1')
  await cache.save(path)
  store.dropCache('c')
  // It was saved as an empty one.
  await assert.rejects(cache.save(path), { ...code('TABLE_DROPPED'), message: /"c"/ })
  assert.throws(() => cache.saveSync(path), code('TABLE_DROPPED'))
  assert.throws(() => cache.dumpSync(), code('TABLE_DROPPED'))
  const whole = readFileSync(path)
  assert.equal((await store.loadCache('loaded', path)).get('a'), '1')
  writeFileSync(path, Buffer.concat([whole, whole]))
  await assert.rejects(Cache.load(path), {
    ...code('CORRUPT'),
    message: new RegExp(`${whole.length}: .* goes on`),
  })
})

test('a size that no number counts is said to be too large', () => {
  for (const max of [2 ** 53, 1e300, Number.POSITIVE_INFINITY]) {
    assert.throws(() => new Cache({ max }), { ...code('RANGE'), message: /at most 9007199254740991, not / })
  }
  assert.throws(() => new Cache({ max: 1.5 }), {
    ...code('RANGE'),
    message: /a whole number from 0 on, not 1.5/,
  })
})
