// Attacks at random, in their shortest form: what they find becomes a test of its own. They know what the documents promise, and
// nothing of the inside. TWINDEX_STRESS makes them so many times as long, TWINDEX_SEED gives other random numbers.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { check, DELETE, KEEP, open, openSync, Store } from 'twindex'

const STRESS = Number(process.env.TWINDEX_STRESS ?? 1)
const SEED = Number(BigInt.asUintN(32, BigInt(process.env.TWINDEX_SEED ?? 1)))

const folder = mkdtempSync(join(tmpdir(), 'twindex-random-'))
after(() => rmSync(folder, { recursive: true }))

/** Numbers below `end` that look random, the same ones for a seed. */
function randomFrom(seed) {
  let state = seed
  return (end) => {
    state = (state + 0x6d2b79f5) | 0
    let word = Math.imul(state ^ (state >>> 15), 1 | state)
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word
    return ((word ^ (word >>> 14)) >>> 0) % end
  }
}

/** All that a store has. */
const contentOf = (store) =>
  new Map(
    store.tables().map(([name, index]) => {
      const table = store.table(name, { index })
      return [name, { index, codecs: table.codecs, pairs: new Map(table) }]
    }),
  )

/** A store in a file, and maps which are to hold the same, whatever is done to both, refused or thrown away. */
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
    const durability = this.choose(['none', 'everysec', 'always'])
    this.store = openSync(this.path, { durability })
    this.isLogged = durability !== 'none'
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

  /** A table of the model and its handle. */
  some() {
    const name = this.choose([...this.tables.keys()])
    return { name, described: this.tables.get(name), table: this.handles.get(name) }
  }

  async step() {
    const changes = [this.write, this.write, this.write, this.many, this.batch, this.refused]
    const others = [this.create, this.drop, this.clear, this.byStale, this.crash, this.elsewhere, this.reopen]
    const does = this.choose(this.tables.size > 0 && this.random(10) < 8 ? changes : others)
    await does.call(this)
  }

  create() {
    const name = this.choose(['a', 'b', 'é', 'x'.repeat(255)])
    const index = this.choose(['hash', 'sorted'])
    const codecs = { keys: this.choose(['str', 'int']), values: this.choose(['json', 'int']) }
    const known = this.tables.get(name)
    if (
      known?.index === index &&
      known.codecs.keys === codecs.keys &&
      known.codecs.values === codecs.values
    ) {
      return
    }
    if (known !== undefined) {
      const code = known.index === index ? 'TWINDEX_WRONG_CODEC' : 'TWINDEX_WRONG_INDEX'
      assert.throws(() => this.store.table(name, { index, ...codecs }), { code })
      return
    }
    this.handles.set(name, this.store.table(name, { index, ...codecs }))
    this.tables.set(name, { index, codecs, pairs: new Map() })
  }

  drop() {
    const name = this.choose(['a', 'b', 'é', 'x'.repeat(255)])
    assert.equal(this.store.dropTable(name), this.tables.delete(name))
    if (this.handles.has(name)) this.stale.push(this.handles.get(name))
    this.handles.delete(name)
  }

  clear() {
    if (this.tables.size === 0) return
    const { table, described } = this.some()
    table.clear()
    described.pairs.clear()
  }

  write() {
    const { table, described } = this.some()
    const { pairs } = described
    const [key, value] = [this.key(described), this.value(described)]
    const isThere = pairs.has(key)
    switch (this.random(5)) {
      case 0:
        assert.equal(table.insert(key, value), !isThere)
        if (!isThere) pairs.set(key, value)
        break
      case 1:
        assert.equal(table.replace(key, value), isThere)
        if (isThere) pairs.set(key, value)
        break
      case 2:
        table.set(key, value)
        pairs.set(key, value)
        break
      case 3:
        assert.equal(table.delete(key), pairs.delete(key))
        break
      default: {
        const change = this.choose([value, KEEP, DELETE])
        table.alter(key, () => change)
        if (change === DELETE) pairs.delete(key)
        else if (change !== KEEP) pairs.set(key, change)
      }
    }
  }

  many() {
    const { table, described } = this.some()
    const { pairs } = described
    const verb = this.choose(['insertMany', 'replaceMany', 'upsertMany', 'deleteMany'])
    const given = Array.from({ length: this.choose([0, 1, 20, 300]) }, () => [
      this.key(described),
      this.value(described),
    ])
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
    const writes = Array.from({ length: this.random(6) }, () => {
      const { table, described } = this.some()
      return { table, pairs: described.pairs, key: this.key(described), value: this.value(described) }
    })
    const ends = this.choose(['well', 'well', 'throws', 'waits', 'dropped'])
    const fill = (batch) => {
      for (const { table, key, value } of writes) batch.set(table, key, value)
      if (ends === 'throws') throw new RangeError('mine')
      if (ends === 'waits') return Promise.resolve()
      if (ends === 'dropped') batch.delete(this.stale[0], this.stale[0].codecs.keys === 'int' ? 1 : 'a')
      return undefined
    }
    if (ends === 'dropped' && this.stale.length === 0) return
    if (ends !== 'well') {
      assert.throws(() => this.store.batch(fill))
      return
    }
    this.store.batch(fill)
    for (const { pairs, key, value } of writes) pairs.set(key, value)
  }

  refused() {
    const { table, described } = this.some()
    const [key, value] = [this.key(described), this.value(described)]
    const long = described.codecs.keys === 'int' ? 2n ** 64n : 'k'.repeat(70_000)
    for (const write of [
      () => table.insert(long, value),
      () =>
        table.upsertMany([
          [key, value],
          [long, value],
        ]),
      () => table.set(key, Symbol('no value')),
      () =>
        table.replaceMany([
          [key, value],
          [{}, value],
        ]),
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

  /** A process that is killed loses nothing that was acknowledged: what it would leave is what the file is now. */
  async crash() {
    if (!this.isLogged) return
    const copy = `${this.path}.copy`
    copyFileSync(this.path, copy)
    const { damage, torn } = await check(copy)
    assert.deepEqual([damage, torn], [[], undefined])
    const store = await open(copy)
    this.check(store)
    await store.close()
  }

  async elsewhere() {
    switch (this.random(3)) {
      case 0:
        this.check(await Store.load(await this.store.dump()))
        break
      case 1:
        await this.store.save(`${this.path}.other`)
        this.check(await Store.load(`${this.path}.other`))
        break
      default:
        await this.store.compact()
    }
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
    const model = new Model(join(folder, `${seed}.twx`), seed)
    for (let step = 0; step < 500 * STRESS; step++) {
      await model.step()
      if (step % 100 === 0) model.check(model.store)
    }
    await model.reopen()
    await model.store.close()
  })
}

test('workers that are ended in the middle of anything leave whole batches', async () => {
  const path = join(folder, 'workers.twx')
  const random = randomFrom(SEED)
  const store = openSync(path, { durability: 'everysec' })
  const table = store.table('t', { index: 'sorted' })
  for (let round = 0; round < 5 * STRESS; round++) {
    const workers = Array.from(
      { length: 1 + random(3) },
      () =>
        new Worker(new URL('./workers/file.js', import.meta.url), {
          workerData: { path, durability: 'everysec', from: 0, to: 100, forever: true },
        }),
    )
    await Promise.all(workers.map((worker) => once(worker, 'message')))
    const compacting = random(2) === 0 ? store.compact() : undefined
    await new Promise((resolve) => setTimeout(resolve, random(20)))
    await Promise.all(workers.map((worker) => worker.terminate()))
    await compacting
    assert.equal(table.get('one'), table.get('two'))
    const copy = `${path}.copy`
    copyFileSync(path, copy)
    const found = openSync(copy, { readOnly: true })
    assert.deepEqual(contentOf(found), contentOf(store))
    found.closeSync()
    table.clear()
  }
  await store.close()
  const { damage, torn } = await check(path)
  assert.deepEqual([damage, torn], [[], undefined])
})
