// What the package does beyond the verbs.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inspect, promisify } from 'node:util'

import { connect, DELETE } from '../index.js'
import { cluster, secureServers } from './cluster.js'

const { url, end } = await cluster()
const secure = await secureServers()
after(end)
after(secure.end)

const open = (name, options) => connect(url, { namespace: `node-${process.pid}-${name}`, ...options })

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

/** Runs Node in the package's folder, and fails if that does not end by itself. */
const run = (...args) => promisify(execFile)(process.execPath, args, { cwd: here('..'), timeout: 60_000 })

test('a table has codecs and remembers them', async () => {
  const store = await open('codecs')
  const users = await store.table('users', { values: 'json' })
  await users.insert('ada', { born: 1815 })
  assert.deepEqual(await users.select('ada'), { born: 1815 })
  assert.ok(await users.alter('ada', async (value) => ({ ...value, died: 1852 })))
  assert.deepEqual(await users.selectMany(['ada', 'bob']), [{ born: 1815, died: 1852 }, undefined])
  assert.ok(await users.alter('ada', () => DELETE))
  const visits = await store.table('visits', { index: 'sorted', keys: 'tuple', values: 'int' })
  await visits.upsertMany([
    [['ada', 2026, 11], 3],
    [['ada', 2026, 2], 5],
    [['bob', 2025, 7], 1],
  ])
  const found = []
  for await (const pair of visits.prefix(['ada', 2026])) found.push(pair)
  assert.deepEqual(found, [
    [['ada', 2026, 2], 5],
    [['ada', 2026, 11], 3],
  ])
  assert.equal(await visits.increment(['bob', 2025, 7], 2), 3)
  assert.equal(await visits.increment(['bob', 2025, 7], 2n), 5n)
  // Rounded as in a store of this process, whose type it has.
  assert.equal(typeof (await visits.increment(['bob', 2025, 7], 2 ** 53 - 1)), 'number')
  assert.equal(await visits.increment(['bob', 2025, 7], -(2n ** 53n) + 1n), 5n)
  assert.deepEqual((await store.table('visits')).codecs, { keys: 'tuple', values: 'int' })
  await assert.rejects(store.table('users', { values: 'int' }), { code: 'TWINDEX_WRONG_CODEC' })
  await assert.rejects(store.table('visits', { index: 'hash' }), { code: 'TWINDEX_WRONG_INDEX' })
  await assert.rejects(store.table('nobody', { create: false }), { code: 'TWINDEX_NO_TABLE' })
  for (const verb of ['snapshot', 'transaction'])
    assert.throws(() => store[verb](() => {}), { code: 'TWINDEX_NOT_SUPPORTED', message: /cluster/ })
  assert.throws(() => users.watch(), { code: 'TWINDEX_NOT_SUPPORTED', message: /cluster/ })
  await store.close()
  await assert.rejects(users.select('ada'), { code: 'TWINDEX_CLOSED' })
})

test('pairs expire when told to', async () => {
  const users = await (await open('ttl')).table('users')
  assert.ok(await users.insert('ada', '1', { ttl: 100_000 }))
  assert.ok(await users.insert('bob', '1', { ttl: 100 }))
  const left = await users.ttl('ada')
  assert.ok(left > 90_000 && left <= 100_000)
  assert.ok(await users.touch('ada', undefined))
  assert.equal(await users.ttl('ada'), Infinity)
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.deepEqual([await users.ttl('bob'), await users.select('bob')], [undefined, undefined])
  assert.throws(() => users.expire('ada', 1), { code: 'TWINDEX_RANGE', message: /touch/ })
  assert.throws(() => users.count(), { code: 'TWINDEX_RANGE', message: /use size/ })
  assert.equal(await users.size, 1)
  assert.ok(await users.insert('dee', '1', { ttl: Infinity }))
  assert.equal(await users.ttl('dee'), Infinity)
  await assert.rejects(users.insert('cy', '1', { ttl: 0 }), { code: 'TWINDEX_TTL' })
  await assert.rejects(users.insert('cy', '1', { ttl: '1' }), { code: 'TWINDEX_TYPE' })
})

test('batches are done in one slot', async () => {
  const store = await open('batches', { partitions: 1 })
  const users = await store.table('users', { values: 'int' })
  const log = await store.table('log', { index: 'sorted' })
  const batch = store.batch().insert(users, '{ada}age', 36).increment(users, '{ada}visits')
  batch.expect(users, '{ada}age', undefined).delete(users, '{ada}none')
  assert.equal(batch.size, 3)
  assert.deepEqual(await batch.commit(), [true, true, false])
  assert.deepEqual(await users.selectMany(['{ada}age', '{ada}visits']), [36, 1])
  await assert.rejects(batch.commit(), { code: 'TWINDEX_CLOSED', message: /the batch has ended/ })
  const took = await store.batch((filled) => {
    filled.upsert(log, 'b', '2').replace(log, 'a', '1')
  })
  assert.deepEqual(took, [true, false])
  const unexpected = store.batch().expect(users, '{ada}age', 7).upsert(users, '{ada}age', 8)
  await assert.rejects(unexpected.commit(), { code: 'TWINDEX_UNEXPECTED' })
  const crossing = store.batch().upsert(users, 'a', 1).upsert(users, 'b', 1)
  await assert.rejects(crossing.commit(), { code: 'TWINDEX_CROSS_SLOT', message: /braces/ })
  assert.throws(() => store.batch().upsert({}, 'a', 1), { code: 'TWINDEX_TYPE' })
  const other = await open('batches')
  assert.throws(() => other.batch().upsert(users, 'a', 1), { code: 'TWINDEX_FOREIGN_TABLE' })
  assert.throws(() => store.batch().increment(users, 'a', 1.5), { code: 'TWINDEX_TYPE' })
  const packed = await store.table('packed', { values: 'msgpack' })
  const isTold = { code: 'TWINDEX_TYPE', message: /values: 'int'/ }
  await assert.rejects(packed.increment('a'), isTold)
  assert.throws(() => store.batch().increment(packed, 'a'), isTold)
})

test('writes wait for replicas', async () => {
  const users = await (await open('replicas', { replicas: 1 })).table('users')
  assert.ok(await users.insert('ada', '1815'))
  const few = await open('replicas', { replicas: 5, timeout: 200 })
  const failed = { code: 'TWINDEX_NOT_REPLICATED', message: /1 of the 5 replicas/ }
  await assert.rejects((await few.table('users')).upsert('ada', '1852'), failed)
  for (const replicas of [-1, 1001]) await assert.rejects(open('x', { replicas }), { code: 'TWINDEX_RANGE' })
})

test('the near cache is switched on and tells its figures', async () => {
  const near = await open('near', { nearCache: 1 << 20 })
  const users = await near.table('users')
  await users.upsert('ada', '1')
  const deadline = Date.now() + 10_000
  while (near.nearStats.hits < 100 && Date.now() < deadline) assert.equal(await users.select('ada'), '1')
  assert.ok(near.nearStats.hits >= 100)
  assert.equal((await open('near')).nearStats, undefined)
})

test('a batch verb says what became of each item', async () => {
  const users = await (await open('partly')).table('users')
  await users.upsert('text', 'x')
  const amounts = [
    ['a', 5],
    ['text', 1],
    ['b', 2n ** 62n],
  ]
  await assert.rejects(users.incrementMany(amounts), ({ code, message, outcomes: [a, text, b] }) => {
    assert.match(message, /^of 3 items 2 are done, 0 may be, 1 are not/)
    assert.deepEqual([code, a, text.code, b], ['TWINDEX_PARTLY_DONE', 5, 'TWINDEX_NOT_AN_INTEGER', 2n ** 62n])
    return true
  })
})

// A look at the catalogue was begun outside the runtime, which ended the process.
test('batches are filled after idling', async () => {
  const store = await open('idle', { catalogueAge: 50 })
  const users = await store.table('users', { values: 'int' })
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.deepEqual(await store.batch().increment(users, 'a', 1).commit(), [true])
  assert.match(inspect(store), /^Store \{\s+servers: \[/)
  assert.match(inspect(users), /^Table \{\s+name: 'users',\s+index: 'hash',\s+keys: 'str',\s+values: 'int'/)
})

test('certificates and addresses reach the native half', async () => {
  const options = { namespace: `node-tls-${process.pid}`, tlsAuthority: secure.authority }
  assert.ok(await (await (await connect(secure.urls.cluster, options)).table('users')).upsert('a', '1'))
  const unavailable = { code: 'TWINDEX_UNAVAILABLE', message: /certificate/ }
  await assert.rejects(connect(secure.urls.cluster), unavailable)
  const wrong = { code: 'TWINDEX_URL', message: /no certificate/ }
  await assert.rejects(connect(secure.urls.cluster, { tlsAuthority: 'what' }), wrong)
  const [host] = url.replace('redis://', '').split(',')
  assert.deepEqual(await (await open('addresses', { addresses: { [host]: host } })).tables(), [])
})

test('errors say what is wrong', async () => {
  await assert.rejects(connect('http://localhost'), { code: 'TWINDEX_URL' })
  await assert.rejects(connect('redis://127.0.0.1:1', { patience: 100 }), { code: 'TWINDEX_UNAVAILABLE' })
  await assert.rejects(connect(7), { code: 'TWINDEX_TYPE' })
  await assert.rejects(connect(url, { partition: 7 }), { code: 'TWINDEX_RANGE' })
  await assert.rejects(connect(url, { partitions: 0 }), { code: 'TWINDEX_RANGE' })
  for (const wrong of [{ a: 7 }, 'a', ['a'], new Map(), null]) {
    await assert.rejects(connect(url, { addresses: wrong }), { code: 'TWINDEX_TYPE' })
  }
  await assert.rejects(connect(url, { tlsAuthority: 7 }), { code: 'TWINDEX_TYPE', message: /tlsAuthority/ })
  await assert.rejects(connect(url, { tlsKey: 'x' }), { code: 'TWINDEX_RANGE', message: /tlsIdentity/ })
  await assert.rejects(connect(url, { tlsIdentity: 'x' }), { code: 'TWINDEX_TYPE', message: /a pair/ })
  await assert.rejects(connect('redis://h:99999'), { code: 'TWINDEX_URL', message: /from 1 to 65535/ })
})

test('the example of the README runs as written', async () => {
  const [, program] = readFileSync(here('../README.md'), 'utf8').match(/^```js\n(.*?)^```/ms)
  assert.ok(program.includes("'redis://localhost:7000'"))
  const options = `'${url}', { namespace: 'node-${process.pid}-readme' }`
  const example = program.replace("'redis://localhost:7000'", options)
  const { stdout } = await run('--input-type=module', '-e', example)
  assert.equal(stdout, '2026-11-01 a\n2026-11-02 b\n')
})

test('a program ends by itself, though calls were under way in workers that it ended', async () => {
  const { stdout } = await run('test/ending.js', url, `node-${process.pid}-ending`)
  assert.equal(stdout, 'true\n')
})
