// What caches have in Node alone: files and bytes, and computations that wait before they ask for their own key.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Cache, check, openSync, Store } from 'twindex'
import { code, folder, here, newPath } from './helpers.js'

test('a cache starts warm, from a path, a URL or bytes', async () => {
  const path = newPath()
  const cache = new Cache({ max: 1000, ttl: 3_600_000 })
  for (let number = 0; number < 300; number++) cache.set(`page/${number}`, { number })
  cache.set('brief', 1, { ttl: 1 })
  cache.set('ever', 2, { ttl: 0 })
  await cache.save(path)
  assert.deepEqual(readdirSync(folder), [path.slice(folder.length + 1)])
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
  const small = await Cache.load(dump, { max: 1000, ttl: 30_000, fetchMethod: () => 'fetched' })
  assert.deepEqual([small.max, small.ttl, small.codecs], [1000, 30_000, { keys: 'int', values: 'str' }])
  assert.equal(await small.fetch(5000), 'fetched')
  assert.ok(small.size <= 1000 && kept(small) > 180)
  const bytes = Cache.loadSync(dump, { maxSize: 100_000, keys: 'int' })
  assert.deepEqual([bytes.max, bytes.maxSize, bytes.ttl], [undefined, 100_000, 60_000])
  assert.ok(bytes.memory <= 100_000 && kept(bytes) > 180)
})

test('a cache is loaded into a store, under a name that is free', async () => {
  const path = newPath()
  const words = new Store().cache('words', { max: 10, values: 'json' })
  words.set('a', { one: 1 })
  words.saveSync(path)
  const store = openSync(newPath())
  const loaded = await store.loadCache('warm', path)
  assert.deepEqual(
    [loaded.name, loaded.codecs, loaded.store],
    ['warm', { keys: 'str', values: 'json' }, store],
  )
  assert.deepEqual([loaded.get('a'), store.cache('warm').get('a')], [{ one: 1 }, { one: 1 }])
  const raw = store.loadCacheSync('raw', words.dumpSync(), { values: 'bytes' })
  assert.deepEqual(raw.get('a'), Buffer.from('{"one":1}'))
  store.table('table')
  for (const [name, options, error] of [
    ['warm', {}, code('NAME_IN_USE')],
    ['table', {}, code('NAME_IN_USE')],
    ['other', { values: 'msgpack' }, code('WRONG_CODEC')],
    ['other', { maxSize: 1000 }, code('MEMORY_LIMIT')],
  ]) {
    assert.throws(() => store.loadCacheSync(name, path, options), error)
    await assert.rejects(store.loadCache(name, path, options), error)
  }
  assert.deepEqual(store.caches(), ['raw', 'warm'])
  store.closeSync()
  await assert.rejects(store.loadCache('closed', path), code('CLOSED'))
  assert.throws(() => loaded.saveSync(path), code('CLOSED'))
  assert.throws(() => loaded.dumpSync(), code('CLOSED'))
})

test('the golden file is read', async () => {
  const cache = await Cache.load(here('../../../conformance/golden/version-2-cache.twx'))
  assert.deepEqual([cache.maxSize, cache.codecs], [1 << 20, { keys: 'str', values: 'json' }])
  assert.equal(cache.get('page/8/007'), 7)
  assert.deepEqual([cache.has('gone'), cache.get(''), cache.size], [false, 'the empty key', 303])
  assert.ok(cache.getRemainingTTL('page/8/007') > 0)
})

test('what is no cache, and what was dropped, is refused', async () => {
  const store = new Store()
  const cache = store.cache('c', { max: 10 }).set('a', '1')
  const dump = cache.dumpSync()
  const path = newPath()
  await cache.save(pathToFileURL(path))
  const whole = readFileSync(path)
  const twice = newPath()
  writeFileSync(twice, Buffer.concat([whole, whole]))
  const no = (what) => code('CORRUPT', { message: new RegExp(what) })
  for (const [source, error] of [
    [store.dumpSync(), no('a store, not a cache')],
    [dump.subarray(0, 0), code('CORRUPT')],
    [dump.subarray(0, dump.length - 1), code('CORRUPT')],
    [twice, no(`${whole.length}: .* goes on`)],
    [join(folder, 'missing.twx'), code('IO', { message: /missing\.twx/ })],
    ...[undefined, null, 1, {}, [dump]].map((wrong) => [wrong, code('TYPE')]),
  ]) {
    assert.throws(() => Cache.loadSync(source), error)
    await assert.rejects(Cache.load(source), error)
    assert.throws(() => store.loadCacheSync('new', source), error)
  }
  assert.throws(() => Store.loadSync(dump), no('a cache, not a store'))
  assert.throws(() => openSync(path), no('a cache, not a store'))
  assert.throws(() => Cache.loadSync(dump, { max: 1, maxSize: 1 }), code('RANGE'))
  assert.throws(() => Cache.loadSync(dump, { signal: AbortSignal.abort() }), code('RANGE'))
  await assert.rejects(Cache.load(dump, { signal: AbortSignal.abort() }), { name: 'AbortError' })
  await assert.rejects(cache.save(path, { signal: AbortSignal.abort() }), { name: 'AbortError' })
  for (const [to, error] of [
    [join(folder, 'none', 'cache.twx'), code('IO')],
    ...[undefined, null, 1, {}].map((wrong) => [wrong, code('TYPE')]),
  ]) {
    assert.throws(() => cache.saveSync(to), error)
    await assert.rejects(cache.save(to), error)
  }
  // It was saved as an empty one.
  store.dropCache('c')
  await assert.rejects(cache.save(path), code('TABLE_DROPPED', { message: /"c"/ }))
  assert.throws(() => cache.saveSync(path), code('TABLE_DROPPED'))
  assert.throws(() => cache.dumpSync(), code('TABLE_DROPPED'))
  assert.equal((await store.loadCache('loaded', path)).get('a'), '1')
})

test('a computation that asks for its own key after it has waited is refused, and others are not', async () => {
  const cache = new Cache({ max: 10 })
  const ask = (key, ...others) =>
    cache.getOrCompute(key, async () => {
      await sleep(1)
      return others.length > 0 ? ask(...others) : 1
    })
  // Twice, since it is not kept which one runs while none does.
  for (let round = 0; round < 2; round++) {
    const beside = ask('x', 'y')
    await assert.rejects(ask('k', 'k'), code('CIRCLE'))
    await assert.rejects(ask('a', 'b', 'a'), code('CIRCLE'))
    assert.deepEqual([await beside, await ask('k', 'b', 'y')], [1, 1])
    cache.clear()
  }
})
