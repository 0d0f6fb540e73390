// Runs the published vector file, as every other host does.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { DELETE, KEEP, Store } from 'twindex'

const { cases } = JSON.parse(
  readFileSync(new URL('../../../conformance/vectors.json', import.meta.url), 'utf8'),
)

/** What a step says for bytes; anything else is passed on as it is, for the store to refuse. */
function bytes(value) {
  if (typeof value === 'string') return Buffer.from(value)
  if (value?.hex !== undefined) return Buffer.from(value.hex, 'hex')
  if (value?.repeat !== undefined) {
    const pattern = Buffer.from(value.repeat, 'hex')
    return Buffer.alloc(pattern.length * value.times, pattern)
  }
  return value
}

const list = (values, read) => values.map(read)
const tuples = (values) => list(values, ([key, ...rest]) => [bytes(key), ...rest.map(bytes)])

/** The options of a range, of which a step has only those that it needs. */
function range(step) {
  const options = {}
  for (const name of ['gt', 'gte', 'lt', 'lte', 'prefix']) if (name in step) options[name] = bytes(step[name])
  for (const name of ['reverse', 'limit']) if (name in step) options[name] = step[name]
  return options
}

/** What a step's change makes of a value. */
function change(step) {
  if (step.keep) return () => KEEP
  if (step.remove) return () => DELETE
  return (value) => Buffer.concat([value ?? Buffer.alloc(0), bytes(step.append)])
}

const onTable = {
  insert: (table, { key, value }) => table.insert(bytes(key), bytes(value)),
  replace: (table, { key, value }) => table.replace(bytes(key), bytes(value)),
  upsert: (table, { key, value }) => table.upsert(bytes(key), bytes(value)),
  delete: (table, { key }) => table.delete(bytes(key)),
  select: (table, { key }) => table.select(bytes(key)),
  contains: (table, { key }) => table.contains(bytes(key)),
  len: (table) => table.size,
  clear: (table) => table.clear(),
  increment: (table, { key, by }) => table.increment(bytes(key), by),
  compare_and_swap: (table, step) =>
    table.compareAndSwap(bytes(step.key), bytes(step.expected), bytes(step.new)),
  alter: (table, step) => table.alter(bytes(step.key), change(step)),
  insert_many: (table, { pairs }) => table.insertMany(tuples(pairs)),
  replace_many: (table, { pairs }) => table.replaceMany(tuples(pairs)),
  upsert_many: (table, { pairs }) => table.upsertMany(tuples(pairs)),
  delete_many: (table, { keys }) => table.deleteMany(list(keys, bytes)),
  contains_many: (table, { keys }) => table.containsMany(list(keys, bytes)),
  select_many: (table, { keys }) => table.selectMany(list(keys, bytes)),
  increment_many: (table, { amounts }) => table.incrementMany(amounts.map(([key, by]) => [bytes(key), by])),
  compare_and_swap_many: (table, { swaps }) => table.compareAndSwapMany(tuples(swaps)),
  scan: (table, step) => [...table.scan(range(step))],
  iter: (table) => [...table].sort(([key], [other]) => Buffer.compare(key, other)),
}

const onCursor = {
  scan_asc_next: (cursor) => cursor.scanAscNext(),
  scan_desc_next: (cursor) => cursor.scanDescNext(),
  scan_asc_next_many: (cursor, { limit }) => cursor.scanAscNextMany(limit),
  scan_desc_next_many: (cursor, { limit }) => cursor.scanDescNextMany(limit),
}

class Runner {
  store = new Store()
  tables = new Map()
  cursors = new Map()

  constructor(encoding, index) {
    this.encodings = { keys: encoding, values: encoding }
    if (index !== undefined) this.open('t', index)
  }

  open(name, index) {
    this.tables.set(name, this.store.table(name, { index, ...this.encodings }))
  }

  close() {
    this.store.closeSync()
  }

  run(step) {
    const table = this.tables.get(step.table ?? 't')
    const verb = step.do
    if (verb in onTable) return onTable[verb](table, step)
    if (verb in onCursor) return onCursor[verb](this.cursors.get(step.id), step)
    switch (verb) {
      case 'cursor':
        this.cursors.set(step.id, table.cursor(range(step)))
        return
      case 'table':
        return this.open(step.name, step.index)
      case 'tables':
        return this.store.tables()
      case 'drop_table':
        return this.store.dropTable(step.name)
      case 'memory_limit':
        this.store.memoryLimit = step.bytes
        return
      case 'reload':
        return this.reload()
      case 'load':
        Store.loadSync(bytes(step.bytes)).closeSync()
        return undefined
      case 'close':
        this.store.closeSync()
        return undefined
      default:
        throw new Error(`unknown step ${verb}`)
    }
  }

  reload() {
    this.store = Store.loadSync(this.store.dumpSync())
    for (const [name, index] of this.store.tables()) this.open(name, index)
  }
}

/** Results and expectations in one form: bytes as hexadecimal text, nothing as null. */
function plain(value) {
  if (value === undefined || value === null) return null
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return Array.isArray(value) ? value.map(plain) : value
}

/** The expectation of a step, of which all text is bytes, but for the names of tables. */
function expected(step) {
  const read = (value) => (Array.isArray(value) ? value.map(read) : plain(bytes(value)))
  return step.do === 'tables' ? step.expect : read(step.expect)
}

function check(runner, step) {
  const error = step.expect?.error
  if (error === undefined) return assert.deepEqual(plain(runner.run(step)), expected(step))
  assert.throws(
    () => runner.run(step),
    ({ code, message }) => {
      assert.equal(code, error)
      return message.includes(step.expect.mentions ?? '')
    },
  )
}

for (const { name, index, steps } of cases) {
  for (const encoding of ['bytes', 'view']) {
    for (const kind of index.length > 0 ? index : [undefined]) {
      test(`${name} (${[kind, encoding].filter(Boolean).join(', ')})`, () => {
        const runner = new Runner(encoding, kind)
        steps.forEach((step, position) => {
          try {
            check(runner, step)
          } catch (error) {
            error.message = `step ${position}, ${JSON.stringify(step).slice(0, 200)}: ${error.message}`
            throw error
          }
        })
        runner.close()
      })
    }
  }
}
