// Watches, as far as JavaScript has a part in them: codecs, waiting, signals. The WebAssembly package runs this too.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Store, Watch } from 'twindex'
import { code, expire } from './helpers.js'

const put = (table, key, value) => ({ kind: 'put', table, key, value })

/** All changes so far. */
function there(watch) {
  const changes = []
  for (let change = watch.poll(); change !== undefined; change = watch.poll()) changes.push(change)
  return changes
}

test('what finds a watch full is counted', async () => {
  const users = new Store().table('users')
  const watch = users.watch(undefined, { maxChanges: 1 })
  users.set('a', '1').set('b', '2').set('c', '3')
  assert.deepEqual(there(watch), [put('users', 'a', '1'), { kind: 'lost', table: 'users', count: 2 }])
})

test('wrong arguments are errors that name them', () => {
  const store = new Store()
  const users = store.table('users')
  assert.throws(() => users.watch(1), code('TYPE'))
  assert.throws(() => users.watch('', { maxChanges: 0 }), code('RANGE', { message: /maxChanges/ }))
  assert.throws(() => users.watch('', { capacity: '1' }), code('TYPE', { message: /capacity/ }))
  assert.throws(() => users.watch('', { bytes: 1 }), code('RANGE', { message: /bytes/ }))
  assert.throws(() => store.table('ints', { keys: 'int' }).watch(1), code('RANGE', { message: /prefixes/ }))
  assert.throws(() => new Watch(), code('TYPE'))
})

test('a change that cannot be shown is still the next one', async () => {
  const store = new Store()
  const watch = store.table('t').watch()
  store.table('t', { keys: 'bytes' }).set(Buffer.from([0xff]), '1')
  assert.throws(() => watch.poll(), code('ENCODING'))
  await assert.rejects(watch.next(), code('ENCODING'))
})

test('waiting ends at a time, a signal, close and a break', async () => {
  const users = new Store().table('users')
  const abort = new AbortController()
  const watch = users.watch('', { signal: abort.signal })
  assert.deepEqual([await watch.wait(0), await watch.wait(1)], [undefined, undefined])
  for (const wrong of [-1, Number.NaN, '1', null]) await assert.rejects(watch.wait(wrong), code('TYPE'))
  const waiting = [watch.next(), watch.wait(60_000), watch.next()]
  users.set('a', '1').set('b', '1')
  assert.equal((await waiting[0]).value.key, 'a')
  assert.equal((await waiting[1]).key, 'b')
  const reason = new Error('enough')
  abort.abort(reason)
  await assert.rejects(waiting[2], (error) => error === reason)
  assert.deepEqual(await watch.next(), { value: undefined, done: true })

  const closed = users.watch()
  const ends = [closed.next(), closed.wait()]
  closed.close()
  assert.deepEqual(await Promise.all(ends), [{ value: undefined, done: true }, undefined])

  const broken = users.watch()
  users.set('c', '1')
  for await (const change of broken) {
    assert.equal(change.key, 'c')
    break
  }
  assert.equal(broken.poll(), undefined)
  await users.watch()[Symbol.asyncDispose]()
})

test('a watch sees writes, transactions and the end of its table, as its codecs show them', async () => {
  const store = new Store()
  const users = store.table('users', { index: 'sorted', keys: 'tuple', values: 'json' })
  const [watch, every] = [users.watch(['é']), users.watch()]
  users.set(['é', 1], { born: 1815 }).set(['z'], 1)
  users.increment(['é', 2])
  users.upsertMany([[['é', 3], null]])
  store.transaction((tx) => tx.table('users').delete(['é', 1]))
  users.deleteRange({ gte: ['é', 3], lt: ['é', 4] })
  users.clear()
  const closed = store.table('other').watch()
  store.dropTable('users')
  const changes = []
  for await (const change of watch) changes.push(change)
  assert.deepEqual(changes, [
    put('users', ['é', 1], { born: 1815 }),
    put('users', ['é', 2], 1),
    put('users', ['é', 3], null),
    { kind: 'delete', table: 'users', key: ['é', 1] },
    { kind: 'delete', table: 'users', key: ['é', 3] },
    { kind: 'clear', table: 'users' },
    { kind: 'drop', table: 'users' },
  ])
  assert.equal(there(every).length, 8)
  store.table('other').set('a', '1')
  store.closeSync()
  assert.deepEqual(await closed.next(), { value: put('other', 'a', '1'), done: false })
  assert.deepEqual(await closed.next(), { value: undefined, done: true })
  assert.throws(() => users.watch(), code('CLOSED'))
})

test('an expiring table is watched with the times of its pairs beside their values', async () => {
  const table = new Store().table('t', { expires: true })
  const watch = table.watch()
  const now = Date.now()
  table.set('a', '1', { ttl: 3_600_000 }).set('old', '2', { ttl: 1 }).set('ever', '3')
  await expire(table, 'old')
  table.removeExpired()
  const [{ expires, ...first }, old, ...rest] = there(watch)
  assert.deepEqual(first, put('t', 'a', '1'))
  assert.equal(Math.round((expires - now) / 1000), 3600)
  assert.equal(old.value, '2')
  assert.deepEqual(rest, [put('t', 'ever', '3'), { kind: 'delete', table: 't', key: 'old' }])
})
