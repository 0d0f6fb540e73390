// Scans and cursors, and what becomes of them when the table changes under them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Store } from 'twindex'

const COUNT = 1000
const name = (i) => `k${String(i).padStart(4, '0')}`
const ALL = Array.from({ length: COUNT }, (_, i) => [name(i), `v${i}`])

function fill(index) {
  const table = new Store().table('t', { index })
  table.insertMany(ALL)
  return table
}

test('a scan gives its range, either way, over any number of blocks', () => {
  const table = fill('sorted')
  for (const [range, pairs] of [
    [{}, ALL],
    [{ gte: name(10) }, ALL.slice(10)],
    [{ gt: name(10) }, ALL.slice(11)],
    [{ lt: name(300) }, ALL.slice(0, 300)],
    [{ lte: name(300) }, ALL.slice(0, 301)],
    [{ gte: name(5), lt: name(905) }, ALL.slice(5, 905)],
    [{ prefix: 'k01' }, ALL.slice(100, 200)],
    [{ prefix: '' }, ALL],
    [{ gte: name(20), lt: name(10) }, []],
    [{ gt: undefined, lt: undefined, prefix: undefined }, ALL],
  ]) {
    const down = pairs.toReversed()
    assert.deepEqual([...table.scan(range)], pairs)
    assert.deepEqual([...table.scan({ ...range, reverse: true })], down)
    for (const limit of [0, 1, 31, 32, 33, 160, 5000]) {
      assert.deepEqual([...table.scan({ ...range, limit })], pairs.slice(0, limit))
      assert.deepEqual([...table.scan({ ...range, limit, reverse: true })], down.slice(0, limit))
      assert.deepEqual(table.cursor(range).scanAscNextMany(limit), pairs.slice(0, limit))
      assert.deepEqual(table.cursor(range).scanDescNextMany(limit), down.slice(0, limit))
    }
  }
})

test('a prefix gives its keys, in tables, snapshots and transactions', () => {
  const { store } = fill('sorted')
  const table = store.table('t', { index: 'sorted' })
  const found = ALL.slice(100, 200)
  const check = (some) => {
    assert.deepEqual([...some.prefix('k01')], found)
    assert.deepEqual([...some.prefix('k01', { reverse: true, limit: 7 })], found.toReversed().slice(0, 7))
    for (const wrong of [[undefined], ['k', { gt: 'k' }]])
      assert.throws(() => some.prefix(...wrong), { code: /TYPE|RANGE/ })
  }
  check(table)
  const snapshot = store.snapshot()
  check(snapshot.table('t', { index: 'sorted' }))
  snapshot.close()
  store.transaction((tx) => check(tx.table('t', { index: 'sorted' })))
})

test('large pairs come whole, in small blocks', () => {
  const table = new Store().table('t', { index: 'sorted', values: 'bytes' })
  for (let i = 0; i < 50; i++) table.insert(name(i), Buffer.alloc(i * 3000, i))
  const sizes = [...table.values()].map(({ length }) => length)
  assert.deepEqual(
    sizes,
    [...Array(50).keys()].map((i) => i * 3000),
  )
  assert.equal(table.cursor().scanAscNextMany(50).length, 50)
  for (const values of ['bytes', 'view']) {
    const some = table.store.table('t', { index: 'sorted', values })
    for (const [limit, reverse] of Object.entries({ 40: false, 41: true, 7: true })) {
      const scanned = [...some.scan({ limit: Number(limit), reverse })].map(([, { length }]) => length)
      assert.deepEqual(scanned, (reverse ? sizes.toReversed() : sizes).slice(0, limit))
    }
  }
})

test('a pair that cannot be shown is an error of its own, and no other pair is passed', () => {
  const store = new Store()
  const texts = store.table('t', { index: 'sorted' })
  const raw = store.table('t', { index: 'sorted', keys: 'bytes', values: 'bytes' })
  for (let i = 0; i < 300; i++) raw.set(Buffer.from(name(i)), Buffer.from(`v${i}`))
  raw.set(Buffer.from([0x6b, 0x30, 0xff]), Buffer.from('key'))
  raw.set(Buffer.from(name(7)), Buffer.from([0xff]))
  const bad = { code: 'TWINDEX_ENCODING', message: /the (key|value) is not UTF-8: ".*\\xff"/ }
  for (const pairs of [texts.entries(), texts.scan({ limit: 120 }), texts.keys(), texts.values()]) {
    const [seen, errors] = [[], []]
    for (let isDone = false; !isDone; ) {
      try {
        const { value, done } = pairs.next()
        isDone = done
        if (!done) seen.push(value)
      } catch (error) {
        errors.push(error)
      }
    }
    for (const { code, message } of errors) assert.ok(code === bad.code && bad.message.test(message), message)
    assert.ok(errors.length === 1 || errors.length === 2)
    assert.ok([120, 301].includes(seen.length + errors.length))
    assert.equal(new Set(seen.map(String)).size, seen.length)
  }
  assert.throws(() => texts.selectMany([name(7)]), bad)
})

for (const index of ['hash', 'sorted']) {
  test(`${index}: a table may be changed while it is iterated`, () => {
    const table = fill(index)
    const seen = new Set()
    for (const [key, value] of table) {
      assert.ok(!seen.has(key))
      seen.add(key)
      table.set(key, `${value}!`)
      if (seen.size > COUNT) continue
      table.delete(name((seen.size * 7) % COUNT))
      table.set(`z${seen.size}`, 'new')
    }
    assert.ok(seen.size >= COUNT / 2)

    const all = fill(index)
    for (const key of all.keys()) assert.ok(all.delete(key))
    assert.equal(all.size, 0)

    for (const end of ['clear', 'drop']) {
      const gone = fill(index)
      const first = gone.entries()
      first.next()
      if (end === 'clear') gone.clear()
      else gone.store.dropTable('t')
      assert.ok([...first].length < COUNT, end)
    }
  })

  test(`${index}: a change may use the table`, () => {
    const table = fill(index)
    const key = name(3)
    let calls = 0
    const took = table.alter(key, (value) => {
      if (calls++ === 0) {
        table.set(key, 'meanwhile')
        table.delete(name(4))
        for (const _ of table) break
      }
      return `${value}+`
    })
    assert.ok(took)
    assert.equal(calls, 2)
    const fail = () => {
      throw new Error('no')
    }
    assert.throws(() => table.alter(key, fail), /no/)
    assert.equal(table.get(key), 'meanwhile+')
    const visited = []
    table.forEach((_, visit) => {
      visited.push(visit)
      table.delete(visit)
    })
    assert.equal(visited.length, COUNT - 1)
    assert.equal(table.size, 0)
  })
}
