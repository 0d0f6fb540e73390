// What only this package's caches have: bytes that every language reads, and a module without caches.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { load } from 'twindex-wasm/caches'
import { load as loadWithout } from '../index.js'

const { Cache, Store } = await load()
const bytesOf = (name) => readFileSync(new URL(`../${name}`, import.meta.url))

const code = (name) => ({ code: `TWINDEX_${name}` })

test('a loaded cache has the pairs, their times, the options and the codecs', async () => {
  const cache = new Cache({ maxEntries: 1000, ttl: 3_600_000, keys: 'int', values: 'json' })
  for (let number = 0; number < 300; number++) cache.set(number, { number })
  cache.set(1000, 1, { ttl: 5 })
  cache.set(1001, 2, { ttl: Number.POSITIVE_INFINITY })
  const dump = await cache.dump()
  while (cache.has(1000)) await sleep(1)
  // Also into another instance of the module, which has not seen the time yet.
  const other = await load(bytesOf('twindex.caches.wasm'))
  for (const loaded of [await Cache.load(dump), Cache.loadSync(dump), other.Cache.loadSync(dump)]) {
    assert.deepEqual([loaded.maxEntries, loaded.capacity, loaded.size], [1000, undefined, 301])
    assert.deepEqual([loaded.codecs, loaded.has(1000)], [{ keys: 'int', values: 'json' }, false])
    for (let number = 0; number < 300; number++) assert.deepEqual(loaded.get(number), { number })
    assert.equal(loaded.ttl(1001), Number.POSITIVE_INFINITY)
    for (const left of [loaded.ttl(7), loaded.set(5, 5).ttl(5)]) {
      assert.ok(left > 3_000_000 && left <= 3_600_000, `${left}`)
    }
  }
  const small = Cache.loadSync(dump, { capacity: 1 << 16, keys: 'bytes', values: 'bytes' })
  assert.deepEqual([small.capacity, small.maxEntries], [1 << 16, 1000])
  assert.throws(() => Cache.loadSync(dump, { values: 'msgpack' }), code('WRONG_CODEC'))
})

test('what is no saved cache is refused', async () => {
  const few = new Cache({ max: 10 }).set('a', '1').dumpSync()
  for (let length = 0; length < few.length; length++) {
    assert.throws(() => Cache.loadSync(few.subarray(0, length)), code('CORRUPT'))
  }
  assert.throws(() => Cache.loadSync(new Store().dumpSync()), code('CORRUPT'))
  assert.throws(() => Store.loadSync(few), code('CORRUPT'))
  for (const wrong of [undefined, null, 1, 'cache.twx', {}]) {
    assert.throws(() => Cache.loadSync(wrong), TypeError)
    await assert.rejects(Cache.load(wrong), TypeError)
  }
})

test('a module and an entry without caches say which have them', async () => {
  const isTold = { ...code('NOT_SUPPORTED'), message: /twindex-wasm\/caches/ }
  for (const { Cache } of [
    await load(bytesOf('twindex.wasm')),
    await loadWithout(bytesOf('twindex.caches.wasm')),
  ]) {
    assert.throws(() => new Cache({ max: 1 }), isTold)
    assert.throws(() => Cache.loadSync(new Uint8Array(1)), isTold)
    await assert.rejects(Cache.load(new Uint8Array(1)), isTold)
  }
})
