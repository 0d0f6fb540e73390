// The vectors of all verbs, as every host runs them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'

import { connect, DELETE, KEEP } from '../index.js'
import { cluster } from './cluster.js'

const { cases } = JSON.parse(readFileSync(new URL('../../../conformance/vectors.json', import.meta.url)))
// A cluster's limit is the servers', and its tables go into a file by `twindex pull`.
const OF_MEMORY = ['memory_limit', 'reload', 'load']
// In the engine a batch is done one by one; here it is done by several servers at once.
const DONE_OTHERWISE = 'increment_many stops at the first that fails'

function runsHere({ name, steps }) {
  const verbs = steps.map((step) => step.do)
  if (name === DONE_OTHERWISE) return false
  return verbs.includes('close') || !verbs.some((verb) => OF_MEMORY.includes(verb))
}

const { url, end } = await cluster()
after(end)

const unhex = (hex) => new Uint8Array(Buffer.from(hex, 'hex'))

function decoded(value) {
  if (typeof value === 'string') return new Uint8Array(Buffer.from(value))
  if (Array.isArray(value)) return value.map(decoded)
  if (value?.hex !== undefined) return unhex(value.hex)
  if (value?.repeat !== undefined) return unhex(value.repeat.repeat(value.times))
  return value
}

const plain = (result) => (Array.isArray(result) ? result.map(plain) : (result ?? null))
const camel = (verb) => verb.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())

async function all(source) {
  const pairs = []
  for await (const pair of source) pairs.push(pair)
  return pairs
}

function altered(old, step) {
  if ('append' in step) return new Uint8Array([...(old ?? []), ...decoded(step.append)])
  return 'remove' in step ? DELETE : KEEP
}

function onTable(table, step) {
  const ends = {}
  for (const name of ['gt', 'gte', 'lt', 'lte', 'prefix', 'reverse', 'limit']) {
    if (name in step) ends[name] = ['reverse', 'limit'].includes(name) ? step[name] : decoded(step[name])
  }
  switch (step.do) {
    case 'scan':
      return all(table.scan(ends))
    case 'iter':
      return all(table).then((pairs) => pairs.sort(([one], [two]) => Buffer.compare(one, two)))
    case 'len':
      return table.count()
    case 'alter':
      return table.alter(decoded(step.key), (old) => altered(old, step))
    case 'increment':
      return table.increment(decoded(step.key), step.by)
    case 'increment_many':
      return table.incrementMany(step.amounts.map(([key, by]) => [decoded(key), by]))
    default: {
      const names = ['key', 'value', 'expected', 'new', 'keys', 'pairs', 'swaps']
      return table[camel(step.do)](...names.filter((name) => name in step).map((name) => decoded(step[name])))
    }
  }
}

async function run(runner, step) {
  const { store, tables, cursors } = runner
  const table = tables.get(step.table ?? 't')
  if (step.do === 'table') {
    const options = { index: step.index, keys: 'view', values: 'view' }
    tables.set(step.name, await store.table(step.name, options))
    return undefined
  }
  if (step.do === 'tables') return store.tables()
  if (step.do === 'drop_table') return store.dropTable(step.name)
  if (step.do === 'close') return store.close()
  if (step.do.includes('_next')) return cursors.get(step.id)[camel(step.do)](step.limit)
  if (step.do === 'cursor') {
    const { do: _, id, table: __, expect: ___, ...ends } = step
    cursors.set(id, table.cursor(decodedEnds(ends)))
    return undefined
  }
  return onTable(table, step)
}

const decodedEnds = (ends) =>
  Object.fromEntries(Object.entries(ends).map(([name, end]) => [name, decoded(end)]))

async function runCase({ steps }, index, namespace) {
  const store = await connect(url, { namespace })
  const runner = { store, tables: new Map(), cursors: new Map() }
  if (index !== undefined) await run(runner, { do: 'table', name: 't', index })
  for (const [number, step] of steps.entries()) {
    if (OF_MEMORY.includes(step.do)) continue
    const where = `step ${number}: ${JSON.stringify(step).slice(0, 300)}`
    const { expect } = step
    if (expect?.error !== undefined) {
      await assert.rejects(
        async () => run(runner, step),
        (error) => {
          assert.equal(error.code, expect.error, `${where}: ${error.stack}`)
          assert.ok(error.message.includes(expect.mentions ?? ''), where)
          return true
        },
      )
    } else {
      const expected = step.do === 'tables' ? expect : decoded(expect)
      assert.deepEqual(plain(await run(runner, step)), expected, where)
    }
  }
  await store.close()
}

test('only what is of memory is left out', () => {
  assert.equal(cases.filter((one) => !runsHere(one)).length, 15)
})

for (const [number, one] of cases.entries()) {
  if (!runsHere(one)) continue
  test(one.name, async () => {
    for (const index of one.index.length > 0 ? one.index : [undefined]) {
      await runCase(one, index, `node-${process.pid}-${number}-${index}`)
    }
  })
}
