// A table has the face of a Map.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Store } from 'twindex'

const byKey = ([a], [b]) => (a < b ? -1 : 1)

for (const index of ['hash', 'sorted']) {
  test(`${index}: every step gives what a Map gives`, () => {
    const table = new Store().table('t', { index })
    const map = new Map()
    let seed = 7
    const random = (below) => {
      seed = (seed * 1103515245 + 12345) % 2147483648
      return Math.floor((seed / 2147483648) * below)
    }
    for (let step = 0; step < 5000; step++) {
      const key = `k${random(300)}`
      const value = `v${random(1000)}`
      switch (random(5)) {
        case 0:
        case 1:
          assert.equal(table.set(key, value), table)
          map.set(key, value)
          break
        case 2:
          assert.equal(table.delete(key), map.delete(key))
          break
        case 3:
          assert.equal(table.get(key), map.get(key))
          break
        default:
          assert.equal(table.has(key), map.has(key))
      }
      assert.equal(table.size, map.size)
    }
    const pairs = [...map].sort(byKey)
    const sort = (items, by) => (index === 'hash' ? [...items].sort(by) : [...items])
    assert.deepEqual(sort(table, byKey), pairs)
    assert.deepEqual(sort(table.entries(), byKey), pairs)
    assert.deepEqual(
      sort(table.keys()),
      pairs.map(([key]) => key),
    )
    assert.deepEqual([...table.values()].sort(), pairs.map(([, value]) => value).sort())
    const visited = []
    table.forEach(function (value, key, whole) {
      assert.equal(whole, table)
      this.push([key, value])
    }, visited)
    assert.deepEqual(sort(visited, byKey), pairs)
    assert.deepEqual(new Map(table), new Map(pairs))
    assert.equal(table.clear(), undefined)
    assert.equal(table.size, 0)
    assert.deepEqual([...table], [])
  })
}

test('iterators have what those of the language have', () => {
  const table = new Store().table('t', { index: 'sorted' })
  for (const key of ['a', 'b', 'c']) table.set(key, key)
  const iterator = table.keys()
  assert.equal(iterator[Symbol.iterator](), iterator)
  assert.deepEqual(iterator.next(), { value: 'a', done: false })
  assert.deepEqual([...iterator], ['b', 'c'])
  assert.deepEqual(iterator.next(), { value: undefined, done: true })
  const left = table.values()
  left.next()
  assert.deepEqual(left.return('out'), { value: 'out', done: true })
  assert.deepEqual(left.next(), { value: undefined, done: true })
  assert.equal(Object.prototype.toString.call(left), '[object Table Iterator]')
})

test('inspecting a table shows its name, index and codecs', () => {
  const store = new Store()
  const table = store.table('users', { index: 'sorted' })
  assert.equal(inspect(table), "Table { name: 'users', index: 'sorted', keys: 'str', values: 'str' }")
  assert.match(inspect(store), /^Store \{ tables: \[ \[ 'users', 'sorted' \] \], memory: \d+ \}$/)
  assert.equal(table.store, store)
  assert.equal(table.cursor().table, table)
  assert.equal(String(table), '[object Table]')
  store.close()
  assert.equal(inspect(store), 'Store { closed: true }')
})
