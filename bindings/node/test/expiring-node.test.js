// Tables whose pairs expire, as far as they need a file or a batch, which Node alone has.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSync, Store } from 'twindex'
import { code, expire, newPath } from './helpers.js'

const SOON = { ttl: 5 }
const HOUR = { ttl: 3_600_000 }

test('batches refuse tables whose pairs expire', () => {
  const store = new Store()
  const table = store.table('t', { expires: true, values: 'int' })
  for (const write of [
    (batch) => batch.set(table, 'a', 1),
    (batch) => batch.delete(table, 'a'),
    (batch) => batch.increment(table, 'a'),
    (batch) => batch.expect(table, 'a', undefined),
  ])
    assert.throws(() => store.batch(write), code('NOT_SUPPORTED', { message: /transaction/ }))
})

test('the file keeps the times; watch and feed show them beside values, and a removal as a delete', async () => {
  const path = newPath()
  const store = openSync(path)
  const table = store.table('t', { expires: true, values: 'json' })
  const [watch, feed] = [table.watch(), store.changes(undefined, { tables: [table] })]
  const now = Date.now()
  table.set('a', [1], HOUR).set('old', 2, SOON).set('ever', 3)
  await expire(table, 'old')
  assert.equal(table.removeExpired(), 1)
  const expected = [
    { table: 't', kind: 'put', key: 'a', value: [1], in: 3600 },
    { table: 't', kind: 'put', key: 'old', value: 2, in: 0 },
    { table: 't', kind: 'put', key: 'ever', value: 3 },
    { table: 't', kind: 'delete', key: 'old' },
  ]
  /** In how many seconds a pair expires, in place of when. */
  const timed = ({ expires, ...rest }) =>
    expires === undefined ? rest : { ...rest, in: Math.round((expires - now) / 1000) }
  assert.deepEqual(
    Array.from(expected, () => timed(watch.poll())),
    expected,
  )
  const changes = []
  while (changes.length < 4) {
    const set = await feed.wait(5000)
    assert.ok(set, `waited 5 s for four changes, and saw ${changes.length}`)
    changes.push(...set.changes.map(timed))
  }
  assert.deepEqual(changes, expected)
  watch.close()
  feed.close()
  store.closeSync()
  assert.throws(() => table.get('a'), code('CLOSED'))
  const again = openSync(path)
  assert.ok(again.table('t').ttl('a') > 3_590_000)
  again.closeSync()
})
