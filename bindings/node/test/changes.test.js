// The feed: the changes of a store in the order of its log.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Changes, changes, open, openSync, Store } from 'twindex'
import { remote, until } from './processes.js'

const folder = mkdtempSync(join(tmpdir(), 'twindex-changes-'))
after(() => rmSync(folder, { recursive: true }))

let files = 0
const newPath = () => join(folder, `${++files}.twx`)

/** All batches that are there. */
async function all(feed) {
  const batches = []
  for (let batch = await feed.poll(); batch !== undefined; batch = await feed.poll()) batches.push(batch)
  return batches
}

test('batches come whole, in order, as the codecs of their tables show them', async () => {
  const path = newPath()
  const store = openSync(path)
  const feed = store.changes()
  assert.equal(feed.store, store)
  assert.equal(await feed.poll(), undefined)
  const users = store.table('users', { values: 'json' })
  const log = store.table('log', { index: 'sorted', keys: 'tuple', values: 'int' })
  store.batch((batch) => {
    batch.set(users, 'ada', { born: 1815 }).set(log, ['é', 1], 7).delete(users, 'nobody').delete(users, 'ada')
  })
  log.increment(['é', 1])
  users.clear()
  store.dropTable('log')
  const batches = await all(feed)
  assert.deepEqual(
    batches.map((batch) => batch.changes),
    [
      [{ kind: 'create', table: 'users', index: 'hash', codecs: { keys: 'str', values: 'json' } }],
      [{ kind: 'create', table: 'log', index: 'sorted', codecs: { keys: 'tuple', values: 'int' } }],
      [
        { kind: 'put', table: 'users', key: 'ada', value: { born: 1815 } },
        { kind: 'put', table: 'log', key: ['é', 1], value: 7 },
        { kind: 'delete', table: 'users', key: 'ada' },
      ],
      [{ kind: 'put', table: 'log', key: ['é', 1], value: 8 }],
      [{ kind: 'clear', table: 'users' }],
      [{ kind: 'drop', table: 'log' }],
    ],
  )
  assert.equal(feed.position, store.position)
  assert.equal(batches.at(-1).position, store.position)
  // From a position in the middle, without the store, as bytes.
  await store.close()
  await assert.rejects(feed.next(), { code: 'TWINDEX_CLOSED' })
  const rest = await all(changes(pathToFileURL(path), batches[2].position, { raw: true }))
  assert.deepEqual(
    rest.map((batch) => batch.changes[0].kind),
    ['put', 'clear', 'drop'],
  )
  assert.deepEqual(rest[0].changes[0].value, Buffer.from('8'))
  assert.deepEqual(rest.at(-1).position, batches.at(-1).position)
  const whole = changes(path)
  assert.equal(whole.position, undefined)
  assert.deepEqual(await all(whole), batches)
  assert.equal(whole.position, batches.at(-1).position)
})

test('another process is followed by a store that is open for reading, over compactions', async () => {
  const path = newPath()
  const writer = await remote(path)
  await writer.tell('set', 'ada', '0')
  const copy = await open(path, { readOnly: true })
  const feed = copy.changes()
  const seen = []
  const reading = (async () => {
    for await (const batch of feed) {
      for (const { key, value } of batch.changes) seen.push(`${key}=${value}`)
      if (seen.at(-1) === 'end=1') break
    }
  })()
  for (let value = 1; value <= 9; value++) {
    await writer.tell('set', 'ada', String(value))
    if (value % 3 !== 0) continue
    // Once it has read what came after, it has the new file open.
    await writer.tell('compact')
    await writer.tell('set', 'after', String(value))
    await until('it was read', () => seen.includes(`after=${value}`))
  }
  await writer.kill()
  const again = await remote(path)
  await again.tell('both', 'x')
  await again.tell('set', 'end', '1')
  await reading
  const values = Array.from({ length: 9 }, (_, at) =>
    at % 3 === 2 ? [`ada=${at + 1}`, `after=${at + 1}`] : [`ada=${at + 1}`],
  ).flat()
  assert.deepEqual(seen, [...values, 'one=x', 'two=x', 'end=1'])
  assert.equal(await feed.poll(), undefined)
  assert.deepEqual(await feed.next(), { value: undefined, done: true })
  await again.end()
  await copy.close()
})

test('a position that was compacted away is an error that tells of the oldest', async () => {
  const path = newPath()
  const store = openSync(path)
  const users = store.table('users')
  const { position } = store
  users.set('ada', '1')
  await store.compact()
  users.set('bob', '2')
  const isGone = (error) => {
    assert.equal(error.code, 'TWINDEX_POSITION_GONE')
    assert.equal(error.position, position)
    assert.equal(error.path, path)
    assert.ok(error.message.includes(error.oldest) && error.message.includes(position))
    return true
  }
  const feed = store.changes(position)
  await assert.rejects(feed.next(), isGone)
  await assert.rejects(feed.poll(), isGone)
  const { oldest } = await changes(path, position)
    .next()
    .catch((error) => error)
  const [batch] = await all(store.changes(oldest))
  assert.deepEqual(batch.changes, [{ kind: 'put', table: 'users', key: 'bob', value: '2' }])
  // What to do: a copy, and its position.
  const copy = await open(path, { readOnly: true })
  assert.deepEqual([...copy.table('users').keys()].sort(), ['ada', 'bob'])
  users.set('eve', '3')
  assert.equal((await all(copy.changes())).length, 1)
  await copy.close()
  await store.close()
})

test('a feed keeps its place from the call on: a compaction before its first poll takes nothing away', async () => {
  const path = newPath()
  const store = openSync(path)
  const users = store.table('users')
  users.set('ada', '1')
  const copy = await open(path, { readOnly: true })
  const { position } = store
  const feeds = {
    'of a store': store.changes(),
    'of a store, from a position': store.changes(position),
    'of a follower': copy.changes(),
    'of a file': changes(path, position),
    'of a whole file': changes(path),
  }
  for (const [at, key] of ['bob', 'eve', 'dan'].entries()) {
    users.set(key, '1')
    if (at < 1) await store.compact()
  }
  for (const [name, feed] of Object.entries(feeds)) {
    const keys = (await all(feed)).flatMap((batch) => batch.changes).flatMap(({ key }) => key ?? [])
    assert.deepEqual(keys, [...(name === 'of a whole file' ? ['ada'] : []), 'bob', 'eve', 'dan'], name)
    feed.close()
  }
  await Promise.all([copy.close(), store.close()])
})

test('some tables alone, with codecs of the user', async () => {
  const path = newPath()
  const store = openSync(path)
  const { position } = store
  const date = {
    name: 'date',
    encode: (day) => day.toJSON(),
    decode: (text) => new Date(text),
    format: 'str',
  }
  const days = store.table('days', { keys: date })
  const other = store.table('other')
  other.set('a', '1')
  days.set(new Date(0), 'first')
  other.set('b', '1')
  const last = store.position
  // Without the codec: an error, which comes again until it is named.
  const blind = store.changes(position)
  assert.equal((await blind.poll()).changes[0].table, 'days')
  await blind.poll()
  await blind.poll()
  const before = blind.position
  for (let time = 0; time < 2; time++)
    await assert.rejects(blind.next(), { code: 'TWINDEX_WRONG_CODEC', message: /"days".*"date"/ })
  assert.equal(blind.position, before)
  const feed = store.changes(position, { tables: [days] })
  assert.deepEqual(
    (await all(feed)).flatMap((batch) => batch.changes),
    [
      { kind: 'create', table: 'days', index: 'hash', codecs: { keys: 'date', values: 'str' } },
      { kind: 'put', table: 'days', key: new Date(0), value: 'first' },
    ],
  )
  // Also behind what was passed over.
  assert.equal(feed.position, last)
  const bytes = store.table('days', { keys: 'bytes', values: 'view' })
  const raw = await all(store.changes(position, { tables: [bytes] }))
  assert.deepEqual(raw[1].changes[0].key, Buffer.from(new Date(0).toJSON()))
  assert.ok(raw[1].changes[0].value instanceof Uint8Array)
  await store.close()
})

test('bytes that their codec cannot show are an error, and nothing is passed over', async () => {
  const store = openSync(newPath())
  const raw = store.table('t', { keys: 'bytes', values: 'bytes' })
  raw.set(Buffer.from([0xff]), Buffer.from('1'))
  await store.close()
  const path = newPath()
  const texts = openSync(path)
  texts.table('t')
  const feed = texts.changes()
  texts.table('t', { keys: 'bytes' }).set(Buffer.from([0xff]), '1')
  await assert.rejects(feed.next(), { code: 'TWINDEX_ENCODING', message: /key is not UTF-8/ })
  await assert.rejects(feed.next(), { code: 'TWINDEX_ENCODING' })
  const [batch] = await all(texts.changes(feed.position, { raw: true }))
  assert.deepEqual(batch.changes[0].key, Buffer.from([0xff]))
  await texts.close()
})

test('large batches come whole, and many in order', async () => {
  const store = openSync(newPath())
  const table = store.table('t', { values: 'bytes' })
  const feed = store.changes()
  const value = Buffer.alloc(3000, 7)
  store.batch((batch) => {
    for (let at = 0; at < 2000; at++) batch.set(table, `key ${at}`, value)
  })
  for (let at = 0; at < 2000; at++) table.set('one', Buffer.from(String(at)))
  const whole = await feed.next()
  assert.equal(whole.value.changes.length, 2000)
  assert.deepEqual(whole.value.changes[1999], { kind: 'put', table: 't', key: 'key 1999', value })
  const rest = await all(feed)
  assert.deepEqual(
    rest.map((batch) => batch.changes[0].value.toString()),
    Array.from({ length: 2000 }, (_, at) => String(at)),
  )
  await store.close()
})

test('a signal, close and a break end the waiting, and calls have their turns', async () => {
  const store = openSync(newPath())
  const users = store.table('users')
  const abort = new AbortController()
  const feed = store.changes(undefined, { signal: abort.signal })
  const waiting = [feed.next(), feed.next(), feed.next()]
  users.set('a', '1')
  users.set('b', '1')
  assert.equal((await waiting[0]).value.changes[0].key, 'a')
  assert.equal((await waiting[1]).value.changes[0].key, 'b')
  const reason = new Error('enough')
  abort.abort(reason)
  await assert.rejects(waiting[2], (error) => error === reason)
  assert.deepEqual(await feed.next(), { value: undefined, done: true })
  const aborted = store.changes(undefined, { signal: AbortSignal.abort() })
  await assert.rejects(aborted.next(), { name: 'AbortError' })
  // Nothing of it is left behind.
  const { signal } = new AbortController()
  for (let round = 0; round < 20; round++) await store.changes(undefined, { signal }).poll()
  const closed = store.changes()
  const ends = [closed.next(), closed.next()]
  closed.close()
  closed.close()
  for (const end of ends) assert.deepEqual(await end, { value: undefined, done: true })
  assert.equal(closed.store, undefined)
  users.set('c', '1')
  const scoped = store.changes(store.position)
  await scoped[Symbol.asyncDispose]()
  assert.equal(await scoped.poll(), undefined)
  const late = store.changes()
  await Promise.all([assert.rejects(late.next(), { code: 'TWINDEX_CLOSED' }), store.close()])
  assert.throws(() => store.changes(), { code: 'TWINDEX_CLOSED' })
})

test('a feed that is not waited for lets the process end, and with ref: false one that is', async () => {
  const run = (source) =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', source, newPath()], {
      cwd: new URL('..', import.meta.url),
      timeout: 60_000,
    })
  const start = `import { openSync } from 'twindex'
    const store = openSync(process.argv[1])
    store.table('t').set('a', '1')`
  const { stdout } = await run(
    `${start}
    for await (const { changes } of store.changes()) { console.log(changes[0].key); break }
    `.replace('for await', `setTimeout(() => store.table('t').set('b', '1'), 20)\nfor await`),
  )
  assert.equal(stdout, 'b\n')
  await run(`${start}
    const feed = store.changes(undefined, { ref: false })
    feed.next()`)
  await run(`${start}
    const signal = AbortSignal.timeout(50)
    await store.changes(undefined, { signal }).next().catch((error) => {
      if (error.name !== 'TimeoutError') throw error
    })`)
})

test('wrong arguments of a feed are refused', async () => {
  const store = openSync(newPath())
  for (const position of ['', 'x', '0123456789abcdef-', '0123456789abcdef--1'])
    assert.throws(() => store.changes(position), { code: 'TWINDEX_NOT_A_POSITION' })
  for (const position of [1, null, {}]) assert.throws(() => store.changes(position), { code: 'TWINDEX_TYPE' })
  for (const options of [
    { raw: 1 },
    { ref: 'no' },
    { signal: 1 },
    { tables: 'users' },
    { tables: ['users'] },
    null,
  ])
    assert.throws(() => store.changes(undefined, options), { code: 'TWINDEX_TYPE' })
  assert.throws(() => store.changes(undefined, { from: 1 }), { code: 'TWINDEX_RANGE' })
  assert.throws(() => new Changes(), { code: 'TWINDEX_TYPE' })
  assert.throws(() => structuredClone(store.changes()), { name: 'DataCloneError' })
  await assert.rejects(store.changes('0123456789abcdef-7').next(), { code: 'TWINDEX_POSITION_GONE' })
  await assert.rejects(changes(newPath()).next(), { code: 'TWINDEX_IO' })
  assert.throws(() => new Store().changes(), { code: 'TWINDEX_NO_FILE' })
  const none = newPath()
  const unlogged = openSync(none, { durability: 'none' })
  assert.throws(() => unlogged.changes(), { code: 'TWINDEX_NO_LOG', path: none })
  await unlogged.save()
  // What it saves is another file each time.
  const feed = changes(none)
  assert.equal(await feed.poll(), undefined)
  await unlogged.save()
  await assert.rejects(feed.next(), { code: 'TWINDEX_POSITION_GONE', path: none })
  const dump = newPath()
  writeFileSync(dump, new Store().dumpSync())
  await assert.rejects(changes(dump).next(), { code: 'TWINDEX_NO_LOG', path: dump })
  await Promise.all([store.close(), unlogged.close()])
})
