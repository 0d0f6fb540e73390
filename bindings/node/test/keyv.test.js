// What the adapter does itself; Keyv's own tests of it are in suites/keyv.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cache, Store } from 'twindex'
import { KeyvTwindex } from 'twindex/keyv'
import { TwindexLevel } from 'twindex/level'
import { code, newPath } from './helpers.js'

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

test('bounds are for an adapter in memory', () => {
  assert.throws(() => new KeyvTwindex({ path: newPath(), max: 10 }), code('RANGE'))
  assert.throws(() => new KeyvTwindex({ store: new Store(), capacity: 1e6 }), code('RANGE'))
  assert.throws(() => new KeyvTwindex({ memoryLimit: 1e6 }), code('RANGE', { message: /capacity/ }))
  assert.throws(() => new KeyvTwindex({ maxSize: 1e6 }), code('RANGE', { message: /capacity/ }))
  assert.throws(() => new KeyvTwindex({ max: 0 }), code('CAPACITY'))
})
