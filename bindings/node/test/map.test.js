// A table has the face of a Map.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Store } from 'twindex'

const byKey = ([a], [b]) => (a < b ? -1 : 1)

for (const index of ['hash', 'sorted']) {
  test(`${index}: a table gives what a Map gives`, () => {
    const table = new Store().table('t', { index })
    const map = new Map()
    for (let step = 0; step < 1000; step++) {
      const key = `k${(step * 7) % 300}`
      for (const verb of ['has', 'get']) assert.equal(table[verb](key), map[verb](key))
      if (step % 3 === 0) assert.equal(table.delete(key), map.delete(key))
      else assert.equal(table.set(key, `v${step}`) === table, map.set(key, `v${step}`) === map)
      assert.equal(table.size, map.size)
    }
    const pairs = [...map].sort(byKey)
    const sort = (items, by) => (index === 'hash' ? [...items].sort(by) : [...items])
    assert.deepEqual(sort(table, byKey), pairs)
    assert.deepEqual(sort(table.entries(), byKey), pairs)
    assert.deepEqual(sort(table.keys()), [...map.keys()].sort())
    assert.deepEqual([...table.values()].sort(), [...map.values()].sort())
    const visited = []
    table.forEach(function (value, key, whole) {
      assert.equal(whole, table)
      this.push([key, value])
    }, visited)
    assert.deepEqual(sort(visited, byKey), pairs)
    assert.deepEqual(new Map(table), new Map(pairs))
    assert.equal(table.clear(), undefined)
    assert.deepEqual([table.size, ...table], [0])
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
