// One thread of the tests: writes and reads its group of the pairs, and says when it began and ended.
import { parentPort, workerData } from 'node:worker_threads'
import { Store } from 'twindex'
import { shuffle } from './keys.js'

const { shared, thread, threads, keys, valueBytes, beside, barrier } = workerData
const store = new Store({ shared })
const text = Buffer.from(keys.text.buffer)
const from = Math.floor((keys.count * thread) / threads)
const to = Math.floor((keys.count * (thread + 1)) / threads)

const keyFor = (number) => text.toString('utf8', number === 0 ? 0 : keys.ends[number - 1], keys.ends[number])
/** The value of a pair: the last digits of its number. */
const valueFor = (number) =>
  valueBytes === 0 ? '' : String(number).padStart(valueBytes, '0').slice(-valueBytes)

/** The pairs with these numbers, as two arrays. */
const pairs = (numbers) => [Array.from(numbers, keyFor), Array.from(numbers, valueFor)]

/** Returns once all workers are here. */
function meet() {
  const [ARRIVED, ROUND] = [0, 1]
  const round = Atomics.load(barrier, ROUND)
  if (Atomics.add(barrier, ARRIVED, 1) + 1 < threads) {
    Atomics.wait(barrier, ROUND, round)
    return
  }
  Atomics.store(barrier, ARRIVED, 0)
  Atomics.add(barrier, ROUND, 1)
  Atomics.notify(barrier, ROUND)
}

function write(table, [keys, values]) {
  for (let at = 0; at < keys.length; at++) {
    if (!table.insert(keys[at], values[at]))
      throw new Error(`key "${keys[at]}" was there before it was inserted`)
  }
}

function readEach(table, [keys, values]) {
  for (let at = 0; at < keys.length; at++) {
    const value = table.select(keys[at])
    if (value !== values[at])
      throw new Error(`key "${keys[at]}" has the value "${value}", not "${values[at]}"`)
  }
}

function updateEach(table, [keys, values]) {
  for (let at = 0; at < keys.length; at++) {
    if (!table.replace(keys[at], values[keys.length - 1 - at]))
      throw new Error(`key "${keys[at]}" is not there`)
  }
}

function readInOrder(table, [keys, values]) {
  const cursor = table.cursor({ gte: keys[0] })
  for (let at = 0; at < keys.length; at++) {
    const pair = cursor.scanAscNext()
    if (pair === undefined || pair[0] !== keys[at] || pair[1] !== values[at]) {
      throw new Error(`the cursor is on ${pair}, not on ${[keys[at], values[at]]}`)
    }
  }
}

function setAll(map, [keys, values]) {
  for (let at = 0; at < keys.length; at++) map.set(keys[at], values[at])
}

function getEach(map, [keys, values]) {
  for (let at = 0; at < keys.length; at++) {
    const value = map.get(keys[at])
    if (value !== values[at])
      throw new Error(`key "${keys[at]}" has the value "${value}", not "${values[at]}"`)
  }
}

function walkInOrder(tree, [keys, values]) {
  const entries = tree.entries()
  for (let at = 0; at < keys.length; at++) {
    const { value: pair } = entries.next()
    if (pair === undefined || pair[0] !== keys[at] || pair[1] !== values[at]) {
      throw new Error(`the walk is on ${pair}, not on ${[keys[at], values[at]]}`)
    }
  }
}

/** This thread's group, as it is written and as it is read: in other orders, and with strings of its own. */
function prepare(test) {
  const own = Array.from({ length: to - from }, (_, at) => from + at)
  const written = pairs(own)
  if (test === 'sorted') return { written, read: pairs(keys.sorted.subarray(from, to)) }
  shuffle(own)
  return { written, read: pairs(own) }
}

/** Milliseconds on the one clock of the process; a thread's own begins with the thread. */
const now = () => Number(process.hrtime.bigint()) / 1e6

const OURS = {
  open: (name, index) => store.table(name, { index }),
  write,
  read: readEach,
  readInOrder,
  update: updateEach,
}
const BESIDE = {
  open: (_name, index) => (index === 'sorted' ? new Tree() : new Map()),
  write: setAll,
  read: getEach,
  readInOrder: walkInOrder,
  update: (map, [keys, values]) => setAll(map, [keys, values.toReversed()]),
}

const system = beside ? BESIDE : OURS
const Tree = beside ? await loadTree() : undefined

async function loadTree() {
  const { default: BTree } = await import('sorted-btree')
  // The package is CommonJS, so its default export comes as a property.
  return BTree.default ?? BTree
}

let prepared
let table

function run({ verb, test, table: name, index }) {
  if (verb === 'prepare') {
    prepared ??= prepare(test)
    table = system.open(name, index)
  }
  meet()
  const start = now()
  if (verb === 'write') system.write(table, prepared.written)
  else if (verb === 'update') system.update(table, prepared.read)
  else if (verb === 'read') (test === 'sorted' ? system.readInOrder : system.read)(table, prepared.read)
  return { start, end: now() }
}

parentPort.on('message', (job) => {
  try {
    parentPort.postMessage(run(job))
  } catch (error) {
    parentPort.postMessage({ wrong: error.message })
  }
})
