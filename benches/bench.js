// The bench of every host of JavaScript: pairs of strings are inserted, selected and scanned, and every value is checked. A host's
// `bench.mjs` names its systems and calls `main`.
//
// Without --system it measures every library in a process of its own, in turns, and prints how many times as fast and as small
// Twindex is. With it, one library in this process; each figure is a line of JSON, as `cargo xtask bench` reads it.
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

const BATCH = 1000
const RANGE = 100

/** What most libraries have in common: loops where they have nothing for many. */
export class Peer {
  insertMany(pairs) {
    this.write(() => {
      for (const [key, value] of pairs) this.insert(key, value)
    })
  }

  selectMany(keys) {
    return keys.map((key) => this.select(key))
  }

  /** Does many writes in the cheapest way that keeps them one by one. */
  write(work) {
    work()
  }

  /** A function that gives the pairs from a key on, one by one. */
  steps(first) {
    const pairs = this.scan(first)[Symbol.iterator]()
    return () => pairs.next().value
  }

  close() {}
}

const { resolve } = createRequire(new URL('../bindings/node/bench/package.json', import.meta.url))
/** A library of `bindings/node/bench/package.json`, which need not be installed. */
export const rival = async (name) => {
  try {
    return await import(resolve(name))
  } catch (error) {
    throw Object.assign(new Error(`${name} is not installed`, { cause: error }), {
      code: 'ERR_MODULE_NOT_FOUND',
    })
  }
}

class BuiltInMap extends Peer {
  map = new Map()
  insert = (key, value) => this.map.set(key, value)
  replace = this.insert
  select = (key) => this.map.get(key)
}

class SortedBTree extends Peer {
  constructor(BTree) {
    super()
    // The package is CommonJS, so its default export comes as a property.
    this.tree = new (BTree.default ?? BTree)()
    this.insert = (key, value) => this.tree.set(key, value)
    this.replace = this.insert
    this.select = (key) => this.tree.get(key)
  }

  scan(gte) {
    return this.tree.entries(gte)
  }
}

/** What programs of every host have today, for each kind of work. */
export const peers = {
  hash: { Map: () => new BuiltInMap() },
  sorted: { 'sorted-btree': async () => new SortedBTree((await rival('sorted-btree')).default) },
  cache: {
    'lru-cache': async () => {
      const { LRUCache } = await rival('lru-cache')
      return (max) => new LRUCache({ max })
    },
  },
}

let seed = 64
function random() {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

function shuffled(items) {
  const order = [...items]
  for (let left = order.length; left > 1; left--) {
    const at = Math.floor(random() * left)
    ;[order[left - 1], order[at]] = [order[at], order[left - 1]]
  }
  return order
}

/** A string of its own, not a part of a longer one. */
const own = (text) => Buffer.from(text).toString()
const valueFor = (number) => own(String(number).padStart(16, '0'))

function* chunks(items) {
  for (let at = 0; at < items.length; at += BATCH) yield items.slice(at, at + BATCH)
}

function check(isRight, key) {
  if (!isRight) throw new Error(`a wrong result for "${key}"`)
}

/** By how much the process grows with each pair, once V8 has taken what it makes as many strings in. */
function memoryOf(target, keys) {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc')
  const each = (use) => {
    let number = 0
    for (const chunk of chunks(keys)) use(chunk.map((key) => [own(key), valueFor(number++)]))
    for (let round = 0; round < 4; round++) gc()
  }
  each(() => {})
  const before = process.memoryUsage().rss
  each((pairs) => target.insertMany(pairs))
  // A host whose memory lies elsewhere says how much it holds.
  return (target.held?.() ?? Math.max(0, process.memoryUsage().rss - before)) / keys.length
}

/** One thread's part: `meet` waits for the others, `make` opens a table by its number. */
async function fill(work, make, keys, { thread, threads }, meet) {
  const part = (items) =>
    items.slice((items.length * thread) / threads, (items.length * (thread + 1)) / threads)
  const pairs = keys.map((key, number) => [own(key), valueFor(number)])
  const written = part(pairs)
  // A map that gave back the very string that is expected would not have to read it.
  const read = shuffled(written).map(([key, value]) => [own(key), own(value)])
  const times = {}
  const step = (figure, count, run) => {
    meet()
    const start = process.hrtime.bigint()
    run()
    times[figure] = { start, end: process.hrtime.bigint(), count }
  }
  const target = await make(1)
  step('insert', keys.length, () =>
    target.write(() => {
      for (const [key, value] of written) target.insert(key, value)
    }),
  )
  step('select', keys.length, () => {
    for (const [key, value] of read) check(target.select(key) === value, key)
  })
  const asked = [...chunks(read.map(([key]) => key))]
  step('select_many', keys.length, () => {
    for (const some of asked) check(!target.selectMany(some).includes(undefined), some[0])
  })
  step('replace', keys.length, () =>
    target.write(() => {
      for (const [key, value] of read) target.replace(key, value)
    }),
  )
  if (work === 'sorted') {
    const encoded = pairs.map(([key, value]) => [Buffer.from(key), value])
    const sorted = encoded
      .sort(([a], [b]) => Buffer.compare(a, b))
      .map(([key, value]) => [key.toString(), own(value)])
    const group = part(sorted)
    step('scan', keys.length, () => {
      const next = target.steps(group[0][0])
      for (const [key, value] of group) {
        const found = next()
        check(found?.[0] === key && found[1] === value, key)
      }
    })
    if (threads === 1) {
      step('scan_many', keys.length, () => {
        let count = 0
        for (const [key] of target.scan()) count += key.length > 0
        check(count === keys.length, 'all')
      })
      const starts = asked.flat().slice(0, Math.ceil(keys.length / 100))
      step('range of 100', starts.length, () => {
        for (const start of starts) {
          let count = 0
          for (const [key] of target.scan(start, RANGE)) if (key.length > 0 && ++count === RANGE) break
        }
      })
    }
  }
  await target.close()
  const again = await make(2)
  const batches = [...chunks(written)]
  step('insert_many', keys.length, () => {
    for (const batch of batches) again.insertMany(batch)
  })
  await again.close()
  return times
}

/** Hits, writes, and both mixed by zipf 0.9 over ten times the capacity, of entries of 100 bytes. */
function cache(make, keys, print) {
  const entries = Math.max(1, Math.floor(keys.length / 10))
  const value = 'x'.repeat(84)
  const sums = new Float64Array(keys.length)
  for (let rank = 0, sum = 0; rank < keys.length; rank++) sums[rank] = sum += 1 / (rank + 1) ** 0.9
  const drawn = keys.map(() => {
    const wanted = random() * sums[keys.length - 1]
    let [low, high] = [0, keys.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle] < wanted) low = middle + 1
      else high = middle
    }
    return keys[(low * 7919) % keys.length]
  })
  const hot = keys.slice(0, entries)
  const put = (target, asked) => {
    for (const key of asked) target.set(key, value)
  }
  const request = (target, asked) => {
    let hits = 0
    for (const key of asked) {
      if (target.get(key) === undefined) target.set(key, value)
      else hits++
    }
    return hits
  }
  for (const [figure, run, asked] of [
    ['hits', request, shuffled(hot)],
    ['writes', put, keys.slice(entries, 2 * entries)],
    ['zipf 0.9', request, drawn],
  ]) {
    const target = make(entries)
    put(target, hot)
    const start = performance.now()
    const hits = run(target, asked)
    print(figure, '/s', (asked.length / (performance.now() - start)) * 1000)
    if (run === request) print(`hit ratio, ${figure}`, '%', (100 * hits) / asked.length)
  }
}

/** Returns once all threads are here. */
function meetAt(barrier, threads) {
  const round = Atomics.load(barrier, 1)
  if (Atomics.add(barrier, 0, 1) + 1 < threads) {
    Atomics.wait(barrier, 1, round)
    return
  }
  Atomics.store(barrier, 0, 0)
  Atomics.add(barrier, 1, 1)
  Atomics.notify(barrier, 1)
}

function readKeys(path, pairs) {
  const lines = new Set(readFileSync(path, 'utf8').split(/\r?\n/))
  lines.delete('')
  return [...lines].slice(0, pairs).map(own)
}

async function measure(url, systems, work, options, folder, print) {
  const { system, threads, pairs } = options
  const keys = readKeys(options.keys, pairs)
  const make = systems[work][system]
  if (work === 'cache') return cache(await make(), keys, print)
  if (threads === 1) {
    const target = await make({ shared: join(folder, 'shared-0') })
    print('bytes', 'bytes', memoryOf(target, keys))
    await target.close()
  }
  const barrier = new Int32Array(new SharedArrayBuffer(8))
  const start = (thread) =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL(url), { workerData: { work, options, folder, thread, barrier } })
      worker.once('message', resolve)
      worker.once('error', reject)
    })
  const all = await Promise.all(Array.from({ length: threads }, (_, thread) => start(thread)))
  for (const figure of Object.keys(all[0])) {
    const times = all.map((each) => each[figure])
    const first = times.reduce((least, { start }) => (start < least ? start : least), times[0].start)
    const last = times.reduce((most, { end }) => (end > most ? end : most), times[0].end)
    print(figure, '/s', (times[0].count / Number(last - first)) * 1e9)
  }
}

async function work() {
  const { work, options, folder, thread, barrier } = workerData
  const { system, keys, pairs, threads } = options
  const make = (number) => this[work][system]({ shared: join(folder, `shared-${number}`) })
  const meet = () => meetAt(barrier, threads)
  parentPort.postMessage(await fill(work, make, readKeys(keys, pairs), { thread, threads }, meet))
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]

/** Every library in turn, and a table of the medians. */
function compare(url, systems, work, options) {
  const figures = {}
  const missing = new Set()
  for (let round = 0; round < options.rounds; round++) {
    for (const system of Object.keys(systems[work])) {
      if (missing.has(system)) continue
      const threads = system === 'twindex' ? options.threads : 1
      const flags = { system, keys: options.keys, pairs: options.pairs, threads }
      const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
      let output = ''
      try {
        output = execFileSync(process.execPath, [fileURLToPath(url), work, ...args], { stdio: 'pipe' })
      } catch (error) {
        if (!String(error.stderr).includes('ERR_MODULE_NOT_FOUND')) throw new Error(error.stderr)
        missing.add(system)
      }
      for (const line of String(output).split('\n').filter(Boolean)) {
        const { figure, unit, value } = JSON.parse(line)
        const name = unit === 'bytes' ? figure : `${figure} ${unit}`
        figures[name] ??= {}
        figures[name][system] ??= []
        figures[name][system].push(value)
      }
    }
  }
  const short = (value) => value.toLocaleString('en', { maximumFractionDigits: 0 })
  const rows = Object.entries(figures).map(([figure, all]) => {
    const ours = median(all.twindex ?? [])
    const cells = Object.entries(all).map(([system, values]) => {
      const theirs = median(values)
      const times = figure === 'bytes' ? theirs / ours : ours / theirs
      const isOurs = system === 'twindex' || !ours
      return [system, isOurs ? short(theirs) : `${short(theirs)} (${times.toFixed(2)}x)`]
    })
    return [figure, Object.fromEntries(cells)]
  })
  console.log(`\n${work}`)
  console.table(Object.fromEntries(rows))
  if (missing.size > 0) console.log(`Not installed: ${[...missing].join(', ')}`)
}

/** The whole of a host's script. `systems[work][name]` makes an empty one of a library, ours first. */
export async function main(url, systems) {
  if (!isMainThread) return work.call(systems)
  const folder = mkdtempSync(join(tmpdir(), 'twindex-bench-'))
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        system: { type: 'string' },
        keys: { type: 'string' },
        pairs: { type: 'string', default: '1000000' },
        threads: { type: 'string', default: '1' },
        rounds: { type: 'string', default: '3' },
      },
    })
    const options = { ...values }
    for (const name of ['pairs', 'threads', 'rounds']) {
      options[name] = Number(values[name])
      if (!(options[name] >= 1)) throw new Error(`--${name} takes a number from 1 on, not "${values[name]}"`)
    }
    const works = positionals.length > 0 ? positionals : Object.keys(systems)
    for (const name of works) {
      const known = Object.keys(systems[name] ?? {})
      if (!known.includes(values.system ?? known[0])) throw new Error(`no ${name} ${values.system}: ${known}`)
    }
    if (values.keys === undefined) {
      options.keys = join(folder, 'keys')
      const keys = Array.from({ length: options.pairs }, () => randomBytes(8).toString('hex'))
      writeFileSync(options.keys, keys.join('\n'))
    }
    for (const name of works) {
      const print = (figure, unit, value) =>
        console.log(JSON.stringify({ system: values.system, figure, unit, value, params: {} }))
      if (values.system === undefined) compare(url, systems, name, options)
      else await measure(url, systems, name, options, folder, print)
    }
  } catch (error) {
    console.error(`error: ${error.code ?? ''} ${error.message}`)
    process.exitCode = 1
  } finally {
    rmSync(folder, { recursive: true })
  }
}
