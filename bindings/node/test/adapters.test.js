// The driver for unstorage and the store for express-session, as those packages call them.
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Cache } from 'twindex'
import { sessionStore } from 'twindex/express-session'
import { twindexDriver } from 'twindex/unstorage'

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
