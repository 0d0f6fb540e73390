// The rounds: a fresh instance of the module, a table, the writes, then the reads. All calls go one by one.
import { readFile } from 'node:fs/promises'
import { load } from 'twindex-wasm'
import { shuffled, valueFor } from './keys.js'
import { STEPS } from './options.js'

const INDEX = { strings: 'hash', sorted: 'sorted', clients: 'hash' }

function write(table, pairs) {
  for (const [key, value] of pairs) {
    if (!table.insert(key, value)) throw new Error(`key "${key}" was there before it was inserted`)
  }
}

function readEach(table, pairs) {
  for (const [key, value] of pairs) {
    const found = table.select(key)
    if (found !== value) throw new Error(`key "${key}" has the value "${found}", not "${value}"`)
  }
}

function updateEach(table, pairs) {
  for (const [at, [key]] of pairs.entries()) {
    if (!table.replace(key, pairs[pairs.length - 1 - at][1])) throw new Error(`key "${key}" is not there`)
  }
}

function readInOrder(table, pairs) {
  const cursor = table.cursor({ gte: pairs[0][0] })
  for (const [key, value] of pairs) {
    const pair = cursor.scanAscNext()
    if (pair === undefined || pair[0] !== key || pair[1] !== value)
      throw new Error(`the cursor is on ${pair}, not on ${[key, value]}`)
  }
}

/** The pairs in the order of their keys' bytes, as strings of their own. */
function inOrder(pairs) {
  const encoded = pairs.map(([key, value]) => [Buffer.from(key), value])
  return encoded.sort(([a], [b]) => Buffer.compare(a, b)).map(([key, value]) => [key.toString(), value])
}

function time(work) {
  const start = performance.now()
  work()
  return performance.now() - start
}

const rounded = (number) => Math.round(number * 1000) / 1000

function result(step, keys, times, memory) {
  const milliseconds = times.toSorted((a, b) => a - b)[times.length >> 1]
  return {
    step,
    keys,
    threads: 1,
    milliseconds: rounded(milliseconds),
    ops: Math.round((keys / milliseconds) * 1000),
    rounds_ms: times.map(rounded),
    bytes_per_pair: null,
    resident_bytes_per_pair: null,
    ...memory,
  }
}

async function runTest(module, test, written, { rounds }, step, isFirst) {
  const [times, memory] = [STEPS[test].map(() => []), {}]
  const { length } = written
  const read = test === 'sorted' ? inOrder(written) : shuffled(written)
  const check = test === 'sorted' ? readInOrder : readEach
  for (let round = 0; round < rounds; round++) {
    const { Store } = await load(module)
    const store = new Store()
    const table = store.table('pairs', { index: INDEX[test] })
    const before = process.memoryUsage().rss
    const work = [() => write(table, written), () => check(table, read), () => updateEach(table, read)]
    for (const [at, name] of STEPS[test].entries()) {
      times[at].push(time(work[at]))
      if (at === 0) {
        const grown = process.memoryUsage().rss - before
        if (isFirst && round === 0) memory.resident_bytes_per_pair = rounded(Math.max(0, grown) / length)
        memory.bytes_per_pair = rounded(store.memory / length)
      }
      step(name)
    }
    store.close()
  }
  return STEPS[test].map((name, at) => result(name, length, times[at], at === 0 ? memory : {}))
}

/** All results, step by step. `step(name)` is called after each. */
export async function runAll(options, keys, step) {
  const module = await WebAssembly.compile(await readFile(new URL('../twindex.fast.wasm', import.meta.url)))
  const pairs = keys.map((key, number) => [key, valueFor(number, options.valueBytes)])
  const results = []
  for (const test of options.tests)
    results.push(...(await runTest(module, test, pairs, options, step, results.length === 0)))
  return results
}
