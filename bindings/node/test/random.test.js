// Random use of a store in a file beside maps that are to hold the same, whatever is done to both, refused or thrown away, and by
// whichever handle. What they find becomes a test of its own. TWINDEX_STRESS makes them so many times as long, TWINDEX_SEED gives other
// random numbers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DELETE, KEEP, openSync, Store } from 'twindex'
import { code, newPath } from './helpers.js'
import { randomFrom } from './numbers.js'

const STRESS = Number(process.env.TWINDEX_STRESS ?? 1)
const SEED = Number(BigInt.asUintN(32, BigInt(process.env.TWINDEX_SEED ?? 1)))

/** All that a store has. */
const contentOf = (store) =>
  new Map(
    store.tables().map(([name, index]) => {
      const table = store.table(name, { index })
      return [name, { index, codecs: table.codecs, pairs: new Map(table) }]
    }),
  )

class Model {
  tables = new Map()
  handles = new Map()
  stale = []

  constructor(path, seed) {
    this.path = path
    this.random = randomFrom(seed)
    this.open()
  }

  choose(these) {
    return these[this.random(these.length)]
  }

  open() {
    this.store = openSync(this.path, { durability: this.choose(['none', 'everysec', 'always']) })
    this.check(this.store)
    for (const [name, { index }] of this.tables) this.handles.set(name, this.store.table(name, { index }))
  }

  check(store) {
    assert.deepEqual(contentOf(store), new Map([...this.tables].sort(([a], [b]) => (a < b ? -1 : 1))))
  }

  key({ codecs }) {
    const number = this.random(40)
    return codecs.keys === 'int' ? number - 20 : `é${number}`.repeat(this.choose([0, 1, 1, 100]))
  }

  value({ codecs }) {
    if (codecs.values === 'int') return this.choose([-1, 0, 7, Number.MAX_SAFE_INTEGER])
    return this.choose([1.5, [this.random(9)], { a: 'é'.repeat(30) }, 'x'.repeat(9000), null])
  }

  /** A table, its model, and a pair for it. */
  some() {
    const name = this.choose([...this.tables.keys()])
    const described = this.tables.get(name)
    const [key, value] = [this.key(described), this.value(described)]
    return { table: this.handles.get(name), described, pairs: described.pairs, key, value }
  }

  async step() {
    const changes = [this.write, this.write, this.write, this.many, this.batch, this.refused]
    const others = [this.create, this.drop, this.clear, this.byStale, this.elsewhere, this.reopen]
    await this.choose(this.tables.size > 0 && this.random(10) < 8 ? changes : others).call(this)
  }

  create() {
    const name = this.choose(['a', 'b', 'é', 'x'.repeat(255)])
    const index = this.choose(['hash', 'sorted'])
    const codecs = { keys: this.choose(['str', 'int']), values: this.choose(['json', 'int']) }
    const open = () => this.store.table(name, { index, ...codecs })
    const known = this.tables.get(name)
    if (known === undefined) {
      this.handles.set(name, open())
      this.tables.set(name, { index, codecs, pairs: new Map() })
    } else if (known.index !== index) assert.throws(open, code('WRONG_INDEX'))
    else if (JSON.stringify(known.codecs) !== JSON.stringify(codecs)) assert.throws(open, code('WRONG_CODEC'))
  }

  drop() {
    const name = this.choose(['a', 'b', 'é', 'x'.repeat(255)])
    assert.equal(this.store.dropTable(name), this.tables.delete(name))
    if (this.handles.has(name)) this.stale.push(this.handles.get(name))
    this.handles.delete(name)
  }

  clear() {
    if (this.tables.size === 0) return
    const { table, pairs } = this.some()
    table.clear()
    pairs.clear()
  }

  write() {
    const { table, pairs, key, value } = this.some()
    const isThere = pairs.has(key)
    const change = this.choose([value, KEEP, DELETE])
    const [act, took, next] = this.choose([
      [() => table.insert(key, value), !isThere, isThere ? KEEP : value],
      [() => table.replace(key, value), isThere, isThere ? value : KEEP],
      [() => table.set(key, value), table, value],
      [() => table.delete(key), isThere, DELETE],
      [() => table.alter(key, () => change), undefined, change],
    ])
    const result = act()
    if (took !== undefined) assert.equal(result, took)
    if (next === DELETE) pairs.delete(key)
    else if (next !== KEEP) pairs.set(key, next)
  }

  many() {
    const { table, described, pairs } = this.some()
    const verb = this.choose(['insertMany', 'replaceMany', 'upsertMany', 'deleteMany'])
    const count = this.choose([0, 1, 20, 300])
    const given = Array.from({ length: count }, () => [this.key(described), this.value(described)])
    const outcomes = given.map(([key, value]) => {
      const isThere = pairs.has(key)
      if (verb === 'deleteMany') return pairs.delete(key)
      const takes = verb === 'upsertMany' || isThere === (verb === 'replaceMany')
      if (takes) pairs.set(key, value)
      return takes
    })
    assert.deepEqual(table[verb](verb === 'deleteMany' ? given.map(([key]) => key) : given), outcomes)
  }

  /** A batch is done whole or not at all. */
  batch() {
    const writes = Array.from({ length: this.random(6) }, () => this.some())
    const ends = this.choose(['well', 'well', 'throws', 'waits', 'dropped'])
    const [stale] = this.stale
    if (ends === 'dropped' && stale === undefined) return
    const fill = (batch) => {
      for (const { table, key, value } of writes) batch.set(table, key, value)
      if (ends === 'throws') throw new RangeError('mine')
      if (ends === 'dropped') batch.delete(stale, this.key(stale))
      return ends === 'waits' ? Promise.resolve() : undefined
    }
    if (ends !== 'well') return assert.throws(() => this.store.batch(fill))
    this.store.batch(fill)
    for (const { pairs, key, value } of writes) pairs.set(key, value)
  }

  refused() {
    const { table, described, key, value } = this.some()
    const long = described.codecs.keys === 'int' ? 2n ** 64n : 'k'.repeat(70_000)
    for (const write of [
      () => table.insert(long, value),
      () => table.upsertMany([[key, value]].concat([[long, value]])),
      () => table.set(key, Symbol('no value')),
      () => table.replaceMany([[key, value]].concat([[{}, value]])),
    ])
      assert.throws(write, { code: /^TWINDEX_/ })
  }

  byStale() {
    if (this.stale.length === 0) return
    const table = this.choose(this.stale)
    const [key, value] = [this.key(table), this.value(table)]
    for (const write of [
      () => table.set(key, value),
      () => table.upsertMany([[key, value]]),
      () => table.deleteMany([key]),
    ])
      assert.throws(write, { code: /^TWINDEX_(TABLE_DROPPED|CLOSED)$/ })
  }

  async elsewhere() {
    if (this.random(2) === 0) this.check(await Store.load(await this.store.dump()))
    else await this.store.compact()
  }

  async reopen() {
    await this.store.close()
    this.stale = [...this.stale, ...this.handles.values()].slice(-8)
    this.handles.clear()
    this.open()
  }
}

for (let seed = SEED; seed < SEED + 2; seed++) {
  test(`a store in a file does what maps do (${seed})`, async () => {
    const model = new Model(newPath(), seed)
    for (let step = 0; step < 500 * STRESS; step++) {
      await model.step()
      if (step % 100 === 0) model.check(model.store)
    }
    await model.reopen()
    await model.store.close()
  })
}
