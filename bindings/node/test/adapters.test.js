// The adapters, as far as public suites do not hold them: those of Keyv and Level are in suites/ and level.test.js.
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Cache, Store } from 'twindex'
import { sessionStore } from 'twindex/express-session'
import { KeyvTwindex } from 'twindex/keyv'
import { TwindexLevel } from 'twindex/level'
import { twindexDriver } from 'twindex/unstorage'
import { code, newPath } from './helpers.js'

test('a driver of unstorage', async () => {
  const driver = twindexDriver({ shared: 'items', capacity: 1e6, base: 'app' })
  driver.setItem('a:b', 'text')
  driver.setItemRaw('raw', new Uint8Array([0, 255]))
  assert.deepEqual(
    [driver.hasItem('a:b'), driver.getItem('a:b'), driver.getItem('none')],
    [true, 'text', null],
  )
  assert.deepEqual(driver.getItemRaw('raw'), Buffer.from([0, 255]))
  assert.deepEqual(driver.getKeys().sort(), ['a:b', 'raw'])
  assert.deepEqual(driver.getKeys('a:'), ['a:b'])
  for (const set of ['setItem', 'setItemRaw'])
    assert.throws(() => driver[set]('s', '\ud800'), { code: 'TWINDEX_ENCODING' })
  driver.setItem('short', 'x', { ttl: 0.01 })
  assert.ok((driver.getMeta('short').ttl ?? 0) <= 0.01)
  while (driver.getItem('short') !== null) await sleep(1)
  const other = twindexDriver({ shared: 'items', base: 'other' })
  other.setItem('a', 'kept')
  driver.removeItem('raw')
  driver.clear('a:')
  assert.deepEqual([driver.getKeys(), other.getItem('a')], [[], 'kept'])
  driver.dispose()
  other.setItem('ever', 'x', { ttl: 1e300 })
  assert.deepEqual(other.getMeta('ever'), {})
  other.setItem('a', 'x'.repeat(1e6))
  assert.equal(other.getItem('a'), null)
  for (const [ttl, name] of [
    [-1, 'TTL'],
    [Number.NaN, 'TTL'],
    ['5', 'TYPE'],
  ])
    for (const set of ['setItem', 'setItemRaw'])
      assert.throws(() => driver[set]('t', 'v', { ttl }), code(name))
  assert.equal(driver.hasItem('t'), false)
  assert.throws(() => twindexDriver({}), { code: 'TWINDEX_CAPACITY' })
  assert.throws(() => twindexDriver({ max: 1, base: 1 }), { code: 'TWINDEX_TYPE' })
  assert.throws(() => twindexDriver({ max: 1, store: 1 }), { code: 'TWINDEX_RANGE', message: /shared/ })
})

test('a store of express-session', async () => {
  const TwindexStore = sessionStore({ Store: EventEmitter })
  const sessions = new TwindexStore({ max: 100 })
  const call = (name, ...given) => promisify(sessions[name].bind(sessions))(...given)
  const cookie = { expires: new Date(Date.now() + 60_000), path: '/' }
  await call('set', 'one', { cookie, user: 'ada \ud800', toJSON: undefined })
  assert.equal((await call('get', 'one')).user, 'ada \ud800')
  assert.equal((await call('get', 'one')).cookie.expires, cookie.expires.toJSON())
  assert.equal(await call('get', 'none'), undefined)
  await call('set', 'brief', { cookie: { expires: new Date(Date.now() + 10) } })
  while ((await call('get', 'brief')) !== undefined) await sleep(1)
  assert.equal(await call('length'), 1)
  const later = { ...cookie, expires: new Date(Date.now() + 120_000) }
  await call('touch', 'one', { cookie: later })
  assert.equal((await call('get', 'one')).cookie.expires, later.expires.toJSON())
  await call('touch', 'none', { cookie })
  await assert.rejects(call('touch', 'one', { cookie: { expires: 'no date' } }), code('TTL'))
  assert.equal((await call('get', 'one')).cookie.expires, later.expires.toJSON())
  assert.deepEqual(Object.keys(await call('all')), ['one'])
  await call('destroy', 'one')
  assert.equal(await call('length'), 0)
  await assert.rejects(call('set', 1, { cookie }), { code: 'TWINDEX_TYPE' })
  await call('clear')
  const ever = new TwindexStore({ max: 100, ttl: Number.POSITIVE_INFINITY, shared: 'sessions' })
  await promisify(ever.set.bind(ever))('one', { cookie: {} })
  assert.equal(new Cache({ shared: 'sessions', values: 'str' }).ttl('one'), Number.POSITIVE_INFINITY)
  await promisify(ever.set.bind(ever))('two', { cookie: { expires: new Date('9999-12-31') } })
  assert.equal(new Cache({ shared: 'sessions', values: 'str' }).ttl('two'), Number.POSITIVE_INFINITY)
  const small = new TwindexStore({ capacity: 1 << 16 })
  const [save, load] = [small.set, small.get].map((method) => promisify(method.bind(small)))
  await save('one', { cookie: {}, user: 'admin' })
  await assert.rejects(save('one', { cookie: {}, cart: 'x'.repeat(1e6) }), {
    code: 'TWINDEX_NO_ROOM',
    message: /1000/,
  })
  assert.equal(await load('one'), undefined)
  assert.throws(() => new TwindexStore(), { code: 'TWINDEX_CAPACITY' })
  assert.throws(() => sessionStore(1), { code: 'TWINDEX_TYPE' })
})

for (const [where, options] of [
  ['in memory', {}],
  ['in a file', { path: newPath() }],
])
  test(`expired pairs go although nobody asks for them, ${where}`, async () => {
    const adapter = new KeyvTwindex(options)
    await adapter.set('short', '1', 10)
    await adapter.setMany([
      { key: 'also', value: '2', ttl: 10 },
      { key: 'ever', value: '3' },
    ])
    await adapter.setMany([{ key: 'too', value: '4', ttl: 10 }])
    while ((await adapter.get('short')) !== undefined) await sleep(1)
    while ((await adapter.getMany(['also', 'too'])).some(Boolean)) await sleep(1)
    assert.equal(await adapter.get('ever'), '3')
    const pairs = []
    for await (const pair of adapter.iterator()) pairs.push(pair)
    assert.deepEqual(pairs, [['ever', '3']])
    await adapter.disconnect()
  })

test("Level's option sync puts a write on disk", async () => {
  const level = new TwindexLevel(newPath())
  await level.open()
  for (const write of [
    (options) => level.put('a', '1', options),
    (options) => level.del('a', options),
    (options) => level.batch([{ type: 'put', key: 'b', value: '2' }], options),
  ]) {
    await write({ sync: true })
    assert.equal(level.store.stats().unsyncedBytes, 0)
  }
  await level.close()
})

test('an adapter may be bounded', async () => {
  const pairs = new KeyvTwindex({ max: 10 })
  const bytes = new KeyvTwindex({ capacity: 100_000, shared: 'pages' })
  for (let n = 0; n < 1000; n++) {
    await pairs.set(`k${n}`, 'v')
    await bytes.set(`k${n}`, 'v'.repeat(1000))
    assert.equal(await pairs.get(`k${n}`), 'v')
  }
  assert.ok(new Cache({ shared: 'pages' }).memory <= 100_000)
  await bytes.set('ever', 'v', 1e15)
  assert.deepEqual([await bytes.set('ever', 'v'.repeat(1e6)), await bytes.get('ever')], [false, undefined])
  assert.ok(
    (await pairs.getMany(Array.from({ length: 1000 }, (_, n) => `k${n}`))).filter(Boolean).length <= 10,
  )
  pairs.namespace = 'n'
  await pairs.set('n:a', '1')
  await pairs.clear()
  assert.deepEqual([await pairs.get('n:a'), (await pairs.get('k999')) ?? 'v'], [undefined, 'v'])
})

test('a time of zero or less is no life for ever', async () => {
  for (const adapter of [new KeyvTwindex(), new KeyvTwindex({ store: new Store() })])
    for (const [ttl, name] of [
      [-1, 'TTL'],
      [Number.NaN, 'TTL'],
      ['5', 'TYPE'],
    ]) {
      await assert.rejects(adapter.set('a', '1', ttl), code(name))
      await assert.rejects(adapter.setMany([{ key: 'a', value: '1', ttl }]), code(name))
      assert.equal(await adapter.get('a'), undefined)
    }
})

test('bounds are for an adapter in memory', () => {
  assert.throws(() => new KeyvTwindex({ path: newPath(), max: 10 }), code('RANGE'))
  assert.throws(() => new KeyvTwindex({ store: new Store(), capacity: 1e6 }), code('RANGE'))
  assert.throws(() => new KeyvTwindex({ memoryLimit: 1e6 }), code('RANGE', { message: /capacity/ }))
  assert.throws(() => new KeyvTwindex({ maxSize: 1e6 }), code('RANGE', { message: /capacity/ }))
  assert.throws(() => new KeyvTwindex({ max: 0 }), code('CAPACITY'))
})
