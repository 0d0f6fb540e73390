// What caches have in Node alone: threads that share one, files and bytes, and computations that wait before they ask for their own key.
import assert from 'node:assert/strict'
import { AsyncResource } from 'node:async_hooks'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Cache, openSync, Store } from 'twindex'
import { code, folder, heard, here, newPath, start, thread, until } from './helpers.js'

// --- threads

test('all threads have one cache', async () => {
  const cache = new Cache({ shared: 'cached', capacity: 30_000_000, values: 'str' })
  const workers = Array.from({ length: 3 }, (_, at) => thread('cacher', { at, rounds: 1000 }))
  const reports = await Promise.all(workers.map(heard))
  await Promise.all(workers.map((worker) => worker.terminate()))
  assert.deepEqual(reports, Array(3).fill({ wrong: 0, over: 0 }))
  assert.ok(cache.size > 0 && cache.memory <= 30_000_000)
  for (let at = 0; at < 3; at++) assert.equal(cache.get(`last-${at}`), String(at))
  assert.ok(cache.stats().hits > 0)
  assert.equal(cache.shared, 'cached')
})

test('one thread computes for all, and another one if that is terminated', async () => {
  const cache = new Cache({ shared: 'computed', max: 100 })
  const worker = thread('computer', 'computed')
  await heard(worker)
  const compute = async (key, mine) => {
    worker.postMessage({ key })
    assert.equal(await heard(worker), 'begun')
    const computed = cache.getOrCompute(key, () => mine)
    worker.postMessage({ goOn: true })
    return computed
  }
  assert.equal(await compute('value', 'of this thread'), 'of the worker')
  assert.equal(cache.get('value'), 'of the worker')
  const failure = { name: 'RangeError', message: 'of the worker', code: 'E_OWN', left: 7 }
  await assert.rejects(compute('error', 'of this thread'), failure)
  await assert.rejects(compute('uncloneable', 'of this thread'), {
    name: 'Error',
    message: 'of the worker',
    left: 7,
  })
  worker.postMessage({ key: 'never' })
  assert.equal(await heard(worker), 'begun')
  const left = cache.getOrCompute('never', () => 'of this thread')
  await worker.terminate()
  assert.equal(await left, 'of this thread')
})

test('all handles of a cache in one thread share its computations', async () => {
  const name = 'two handles'
  const [one, other] = [new Cache({ shared: name, max: 10, values: 'str' }), new Cache({ shared: name })]
  let runs = 0
  const ask = (cache, key, ...others) =>
    cache.getOrCompute(key, async () => {
      await sleep(1)
      return others.length > 0 ? ask(other, ...others) : `run ${++runs}`
    })
  assert.deepEqual(await Promise.all([ask(one, 'a'), ask(other, 'a')]), ['run 1', 'run 1'])
  await assert.rejects(ask(one, 'b', 'c', 'b'), code('CIRCLE'))
  const raw = new Cache({ shared: name, keys: 'view', values: 'view' })
  assert.deepEqual(raw.get(Buffer.from('a')), new Uint8Array(Buffer.from('run 1')))
})

test('a shared cache has one set of options', () => {
  const cache = new Cache({ shared: 'options', max: 10, ttl: 1000, values: 'json' })
  const open = (options) => new Cache({ shared: 'options', ...options })
  assert.equal(open({ max: 10, ttl: 1000, values: 'json' }).set('a', { one: 1 }).size, 1)
  assert.deepEqual([open().get('a'), cache.get('a')], [{ one: 1 }, { one: 1 }])
  for (const [options, error] of [
    [{ max: 11 }, code('RANGE', { message: /"options" has maxEntries 10, not 11/ })],
    [{ capacity: 1e6 }, code('RANGE', { message: /capacity none, not 1000000/ })],
    [{ ttl: Number.POSITIVE_INFINITY }, code('RANGE', { message: /ttl 1000, not Infinity/ })],
    [{ values: 'int' }, code('WRONG_CODEC', { message: /"json", not "int"/ })],
  ])
    assert.throws(() => open(options), error)
  assert.throws(() => Cache.loadSync(cache.dumpSync(), { shared: 'options' }), code('RANGE'))
  for (const wrong of ['', 1, null]) assert.throws(() => new Cache({ shared: wrong, max: 1 }))
})

test('onEvict is called in the thread that made the cache, and its errors are uncaught exceptions', async () => {
  const told = []
  const cache = new Cache({ shared: 'told', max: 10, values: 'int', onEvict: (...gone) => told.push(gone) })
  const worker = thread('evicter', 'told')
  await once(worker, 'exit')
  await until('every eviction is told', () => told.length === 990)
  assert.deepEqual([told[0].slice(1), cache.size], [[1, 'size'], 10])
  const child = start(['--input-type=module', '--eval', CHILD], { cwd: join(import.meta.dirname, '..') })
  let errors = ''
  child.stderr.unpipe()
  child.stderr.on('data', (text) => {
    errors += text
  })
  const [status] = await once(child, 'exit')
  assert.deepEqual([status, /Error: of the listener/.test(errors)], [1, true])
})

/** It ends with the exception of its listener, which tells of an expired pair. */
const CHILD = `
  import { Cache } from 'twindex'
  const onEvict = () => { throw new Error('of the listener') }
  const cache = new Cache({ max: 10, ttl: 1, onEvict }).set('a', '1')
  setInterval(() => cache.get('b'), 1)
`

test('a computation that asks for its own key after it has waited is refused, and others are not', async () => {
  const cache = new Cache({ max: 10, values: 'int' })
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

test('what a computation left running waits for others once that has ended', async () => {
  const cache = new Cache({ max: 10 })
  // As by a connection that the first one opens, whose callbacks belong to it for ever.
  let ask
  const token = cache.getOrCompute('token', async () => {
    ask = AsyncResource.bind(() => cache.getOrCompute('page', () => 'no'))
    await sleep(1)
    return 'secret'
  })
  let show
  const shown = new Promise((resolve) => {
    show = resolve
  })
  const page = cache.getOrCompute('page', async () => {
    const secret = await cache.getOrCompute('token', () => 'no')
    await shown
    return `page for ${secret}`
  })
  await token
  const asked = ask()
  show()
  assert.deepEqual(await Promise.all([page, asked]), ['page for secret', 'page for secret'])
})

test('a key whose computation failed is computed again, whatever it threw', { timeout: 60_000 }, async () => {
  const cache = new Cache({ shared: 'failing', max: 10 })
  const unread = {
    get property() {
      throw new Error('not to be read')
    },
  }
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  for (const thrown of [unread, proxy, { message: Object.create(null), method() {} }]) {
    const failed = cache.getOrCompute('key', () => {
      throw thrown
    })
    assert.ok(
      await failed.then(
        () => false,
        (error) => error === thrown,
      ),
    )
    assert.equal(await cache.getOrCompute('key', () => 'again'), 'again')
    cache.clear()
  }
})

// --- files and bytes

test('a cache starts warm, from a path, a URL or bytes', async () => {
  const path = newPath()
  const cache = new Cache({ max: 1000, ttl: 3_600_000, values: 'msgpack' })
  for (let number = 0; number < 300; number++) cache.set(`page/${number}`, { number })
  cache.set('brief', 1, { ttl: 1 })
  cache.set('ever', 2, { ttl: Number.POSITIVE_INFINITY })
  await cache.save(path)
  assert.deepEqual(readdirSync(folder), [path.slice(folder.length + 1)])
  while (cache.has('brief')) await sleep(1)
  for (const loaded of [
    await Cache.load(path),
    Cache.loadSync(pathToFileURL(path)),
    await Cache.load(await cache.dump(), { shared: 'warm' }),
    Cache.loadSync(readFileSync(path)),
  ]) {
    assert.deepEqual([loaded.max, loaded.capacity, loaded.has('brief')], [1000, undefined, false])
    for (let number = 0; number < 300; number++) assert.deepEqual(loaded.get(`page/${number}`), { number })
    assert.equal(loaded.ttl('ever'), Number.POSITIVE_INFINITY)
    assert.ok(loaded.ttl('page/7') > 3_000_000 && loaded.set('new', 1).ttl('new') > 3_000_000)
  }
  assert.deepEqual(new Cache({ shared: 'warm', max: 1000, ttl: 3_600_000 }).get('page/7'), { number: 7 })
})

test('a load may have other options, and sees the codecs that were saved', async () => {
  const cache = new Cache({ max: 4000, keys: 'int', values: 'str', ttl: 60_000 })
  for (let number = 0; number < 4000; number++) cache.set(number, 'x')
  const favourites = Array.from({ length: 200 }, (_, number) => number)
  for (let round = 0; round < 3; round++) cache.selectMany(favourites)
  const dump = cache.dumpSync()
  const told = []
  const options = { max: 1000, ttl: 30_000, fetchMethod: () => 'fetched', onEvict: (key) => told.push(key) }
  const small = await Cache.load(dump, options)
  assert.deepEqual([small.max, small.codecs], [1000, { keys: 'int', values: 'str' }])
  assert.deepEqual([await small.fetch(5000), small.ttl(5000) <= 30_000], ['fetched', true])
  assert.ok(small.size <= 1000 && favourites.filter((number) => small.has(number)).length > 180)
  await until('the listener is told', () => told.length >= 3000)
  assert.deepEqual(Cache.loadSync(dump, { keys: 'view', values: 'view' }).codecs, small.codecs)
  assert.throws(() => Cache.loadSync(dump, { values: 'msgpack' }), code('WRONG_CODEC'))
})

test('a cache that Rust saved is read without naming codecs', async () => {
  const cache = await Cache.load(here('../../../conformance/golden/version-1-cache.twx'))
  assert.deepEqual([cache.capacity, cache.codecs], [1 << 20, { keys: 'str', values: 'json' }])
  assert.deepEqual([cache.get('page/8/007'), cache.get(''), cache.has('gone')], [7, 'the empty key', false])
})

test('bytes that are no whole cache are refused', async () => {
  const cache = new Cache({ max: 10 }).set('a', '1')
  const dump = cache.dumpSync()
  const path = newPath()
  await cache.save(pathToFileURL(path))
  const broken = newPath()
  writeFileSync(broken, readFileSync(path).subarray(1))
  for (const [source, error] of [
    [new Store().dumpSync(), code('CORRUPT', { offset: 0 })],
    [dump.subarray(0, 0), code('CORRUPT')],
    [dump.subarray(0, dump.length - 1), code('CORRUPT')],
    [broken, code('CORRUPT', { path: broken, message: new RegExp(broken) })],
    [join(folder, 'missing.twx'), code('IO', { message: /missing\.twx/ })],
    ...[undefined, null, 1, {}, [dump]].map((wrong) => [wrong, code('TYPE')]),
  ]) {
    assert.throws(() => Cache.loadSync(source), error)
    await assert.rejects(Cache.load(source), error)
  }
  for (const load of [() => Store.loadSync(dump), () => openSync(path)]) assert.throws(load, code('CORRUPT'))
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
})

test('an aborted load lets go of what it loads', async () => {
  const cache = new Cache({ max: 20_000, keys: 'int', values: 'int' })
  for (let number = 0; number < 20_000; number++) cache.set(number, number)
  const aborting = new AbortController()
  const loading = Cache.load(cache.dumpSync(), { shared: 'aborted', signal: aborting.signal })
  aborting.abort(new Error('enough'))
  await assert.rejects(loading, /enough/)
  // As long as it is there, it has one bound, and a new one may have the other.
  await until('it is gone', () => {
    try {
      return new Cache({ shared: 'aborted', capacity: 1e6 }).size === 0
    } catch (error) {
      assert.equal(error.code, 'TWINDEX_RANGE')
      return false
    }
  })
})
