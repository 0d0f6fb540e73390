// The feed, as far as Node has a part in it: codecs, positions, waiting, signals, and when a process may end. Which changes a file
// has, over restarts and compactions, is tested in `durable`.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Changes, changes, openSync, Store } from 'twindex'
import { code, newPath } from './helpers.js'

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
  await assert.rejects(feed.next(), code('CLOSED'))
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

test('a position that is gone is an error that tells of the oldest', async () => {
  const path = newPath()
  const store = openSync(path)
  const users = store.table('users').set('ada', '1')
  const { position } = store
  users.set('large', 'x'.repeat(1 << 20)) // more than a compaction keeps
  users.delete('large')
  await store.compact()
  users.set('amy', '1')
  let oldest
  const isGone = (error) => {
    oldest = error.oldest
    assert.deepEqual([error.code, error.position, error.path], ['TWINDEX_POSITION_GONE', position, path])
    assert.ok(error.message.includes(oldest) && error.message.includes(position))
    return true
  }
  for (const feed of [store.changes(position), changes(path, position)]) {
    await assert.rejects(feed.next(), isGone)
    await assert.rejects(feed.poll(), isGone)
  }
  const [, batch] = await all(store.changes(oldest))
  assert.deepEqual(batch.changes, [{ kind: 'put', table: 'users', key: 'amy', value: '1' }])
  await store.close()
})

test('some tables alone, with codecs of the user', async () => {
  const store = openSync(newPath())
  const { position } = store
  const date = {
    name: 'date',
    encode: (day) => day.toJSON(),
    decode: (text) => new Date(text),
    format: 'str',
  }
  const days = store.table('days', { keys: date })
  const other = store.table('other').set('a', '1')
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
    await assert.rejects(blind.next(), code('WRONG_CODEC', { message: /"days".*"date"/ }))
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
  store.table('t')
  const feed = store.changes()
  store.table('t', { keys: 'bytes' }).set(Buffer.from([0xff]), '1')
  await assert.rejects(feed.next(), code('ENCODING', { message: /key is not UTF-8/ }))
  await assert.rejects(feed.next(), code('ENCODING'))
  const [batch] = await all(store.changes(feed.position, { raw: true }))
  assert.deepEqual(batch.changes[0].key, Buffer.from([0xff]))
  await store.close()
})

test('large batches come whole, and many in order', async () => {
  const store = openSync(newPath())
  const table = store.table('t', { values: 'bytes' })
  const feed = store.changes()
  const value = Buffer.alloc(3000, 7)
  store.batch((batch) => {
    for (let at = 0; at < 500; at++) batch.set(table, `key ${at}`, value)
  })
  for (let at = 0; at < 2000; at++) table.set('one', Buffer.from(String(at)))
  const whole = await feed.next()
  assert.equal(whole.value.changes.length, 500)
  assert.deepEqual(whole.value.changes[499], { kind: 'put', table: 't', key: 'key 499', value })
  assert.deepEqual(
    (await all(feed)).map((batch) => batch.changes[0].value.toString()),
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
  users.set('a', '1').set('b', '1')
  assert.equal((await waiting[0]).value.changes[0].key, 'a')
  assert.equal((await waiting[1]).value.changes[0].key, 'b')
  const reason = new Error('enough')
  abort.abort(reason)
  await assert.rejects(waiting[2], (error) => error === reason)
  assert.deepEqual(await feed.next(), { value: undefined, done: true })
  const aborted = store.changes(undefined, { signal: AbortSignal.abort() })
  await assert.rejects(aborted.next(), { name: 'AbortError' })
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
  await Promise.all([assert.rejects(late.next(), code('CLOSED')), store.close()])
  assert.throws(() => store.changes(), code('CLOSED'))
})

test('a feed that is not waited for lets the process end, and with ref: false one that is', async () => {
  const run = (source) =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', START + source, newPath()], {
      cwd: new URL('..', import.meta.url),
      timeout: 60_000,
    })
  const START = `import { openSync } from 'twindex'
    const store = openSync(process.argv[1])
    const t = store.table('t').set('a', '1')
    const signal = AbortSignal.timeout(50)
  `
  const { stdout } = await run(`
    setTimeout(() => t.set('b', '1'), 20)
    for await (const { changes } of store.changes()) { console.log(changes[0].key); break }`)
  assert.equal(stdout, 'b\n')
  await run('store.changes(undefined, { ref: false }).next()')
  await run(`await store.changes(undefined, { signal }).next().catch((error) => {
      if (error.name !== 'TimeoutError') throw error
    })`)
})

test('wrong arguments of a feed are refused', async () => {
  const store = openSync(newPath())
  for (const position of ['', 'x', '0123456789abcdef-', '0123456789abcdef--1'])
    assert.throws(() => store.changes(position), code('NOT_A_POSITION'))
  for (const position of [1, null, {}]) assert.throws(() => store.changes(position), code('TYPE'))
  for (const options of [
    { raw: 1 },
    { ref: 'no' },
    { signal: 1 },
    { tables: 'users' },
    { tables: ['users'] },
    null,
  ])
    assert.throws(() => store.changes(undefined, options), code('TYPE'))
  assert.throws(() => store.changes(undefined, { from: 1 }), code('RANGE'))
  assert.throws(() => new Changes(), code('TYPE'))
  assert.throws(() => structuredClone(store.changes()), { name: 'DataCloneError' })
  await assert.rejects(store.changes('0123456789abcdef-7').next(), code('POSITION_GONE'))
  await assert.rejects(changes(newPath()).next(), code('IO'))
  assert.throws(() => new Store().changes(), code('NO_FILE'))
  const path = newPath()
  const unlogged = openSync(path, { durability: 'none' })
  assert.throws(() => unlogged.changes(), code('NO_LOG', { path }))
  await Promise.all([store.close(), unlogged.close()])
  writeFileSync(path, new Store().dumpSync())
  await assert.rejects(changes(path).next(), code('NO_LOG', { path }))
})
