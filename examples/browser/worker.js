// The tests and the store. A worker, since there alone a browser's files are written at once.

import { open } from './twindex-wasm/browser.js'
import { load } from './twindex-wasm/index.js'

/** Pairs between two messages of how far a step is. */
const BLOCK = 10_000

const tell = (what, details) => postMessage([what, details])

/** Keys as random as they need be, the same for each run. */
function makeKeys(count) {
  let state = 1
  return Array.from({ length: count }, (_, number) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9
    return `${(state >>> 0).toString(16).padStart(8, '0')}${number.toString(16).padStart(8, '0')}`
  })
}

/** Does `work` for each pair of a step: millions of them a second. */
function time(step, pairs, work) {
  const start = performance.now()
  for (let from = 0; from < pairs; from += BLOCK) {
    const to = Math.min(pairs, from + BLOCK)
    for (let at = from; at < to; at++) work(at)
    tell('progress', { step, done: to / pairs })
  }
  return pairs / 1000 / (performance.now() - start)
}

function expect(holds, what) {
  if (!holds) throw new Error(what)
}

async function test(pairs) {
  const { Store } = await load()
  const store = new Store()
  const keys = makeKeys(pairs)
  const strings = store.table('TestStrings')
  const sorted = store.table('TestSortedSet', { index: 'sorted' })
  const speeds = [
    time(0, pairs, (at) => strings.insert(keys[at], `value ${at}`)),
    time(1, pairs, (at) => {
      const chosen = (at * 7919) % pairs
      expect(strings.select(keys[chosen]) === `value ${chosen}`, 'a pair is not as it was written')
    }),
    time(2, pairs, (at) => sorted.insert(keys[at], `value ${at}`)),
  ]
  const cursor = sorted.cursor()
  let before = ''
  speeds.push(
    time(3, pairs, () => {
      const [key] = cursor.scanAscNext()
      expect(key > before, 'the scan is not in order')
      before = key
    }),
  )
  await store.close()
  return speeds
}

let store
let runs

function showRuns() {
  tell('results', { runs: [...runs.scan({ reverse: true })].map(([, run]) => run), storage: store.storage })
}

function fail({ message }) {
  tell('failed', { message, isOpen: runs !== undefined })
}

const commands = {
  async run(pairs) {
    const speeds = await test(pairs)
    runs.set(`${new Date().toISOString()} ${String(runs.size).padStart(6, '0')}`, { when: Date.now(), pairs, speeds })
    await store.flush()
  },
  async forget() {
    runs.clear()
    await store.flush()
  },
}

onmessage = async ({ data: [command, argument] }) => {
  try {
    await commands[command](argument)
    showRuns()
  } catch (error) {
    fail(error)
  }
}

/** The store, once no other tab has it. */
async function openAlone() {
  try {
    return await open('example')
  } catch (error) {
    if (error.code !== 'TWINDEX_IN_USE') throw error
    tell('waiting')
    return open('example', { wait: true })
  }
}

try {
  store = await openAlone()
  runs = store.table('runs', { index: 'sorted', values: 'json' })
  showRuns()
} catch (error) {
  fail(error)
}
