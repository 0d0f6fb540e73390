// One library's round, in a process of its own: `node --expose-gc child.js PEER PAIRS [memory]`. Prints what it measured as JSON.
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { PEERS } from './adapters.js'

const [name, count] = [process.argv[2], Number(process.argv[3])]
const BATCH = 1000
const RANGE = 100
/** A library that waits for a promise a write gets fewer of them. */
const SLOW = 20

/** The same keys in every process, in random order. */
const keyOf = (number) => createHash('md5').update(String(number)).digest('hex').slice(0, 16)
/** A string of its own and in one piece, as it comes from elsewhere: V8 leaves what a program puts together in pieces. */
const read = (text) => Buffer.from(text).toString('latin1')
const keys = () => Array.from({ length: count }, (_, at) => read(keyOf(at)))
const numbered = (number) => read(String(number).padStart(16, '0'))

/** Another order, the same in every process. */
function shuffled(items) {
  let state = 64
  for (let left = items.length; left > 1; left--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    const at = state % left
    ;[items[left - 1], items[at]] = [items[at], items[left - 1]]
  }
  return items
}

const chunks = (items) =>
  Array.from({ length: Math.ceil(items.length / BATCH) }, (_, at) =>
    items.slice(at * BATCH, (at + 1) * BATCH),
  )

const results = {}

/** Notes how many operations a second `work` does. */
async function time(step, operations, work) {
  globalThis.gc()
  const start = process.hrtime.bigint()
  await work()
  results[step] = (operations / Number(process.hrtime.bigint() - start)) * 1e9
}

function assertCount(found, expected) {
  if (found !== expected) throw new Error(`${name}: ${found} instead of ${expected}`)
}

const folder = mkdtempSync(join(tmpdir(), 'twindex-peers-'))

async function opened() {
  const peer = PEERS[name](mkdtempSync(join(folder, 'peer-')))
  await peer.open?.()
  return peer
}

async function insertAll(peer, written, values) {
  if (peer.isSlow) {
    for (let at = 0; at < written.length; at++) await peer.insert(written[at], values[at])
    return
  }
  peer.write(() => {
    for (let at = 0; at < written.length; at++) peer.insert(written[at], values[at])
  })
}

/** How often a few pairs are scanned: the engine compiles a loop anew until it has seen all that happens in it. */
const WARM_SCANS = 50

/** Inserts and looks up a few, so that the code is compiled when it counts. */
async function warmUp() {
  const peer = await opened()
  const some = Array.from({ length: Math.min(count, 20_000) }, (_, at) => keyOf(-1 - at))
  await insertAll(peer, some.slice(0, peer.isSlow ? 100 : some.length), some)
  for (const key of some) peer.select(key)
  await peer.insertMany(some.slice(0, BATCH).map((key) => [`${key}x`, key]))
  await peer.selectMany(some.slice(0, BATCH))
  if (peer.isSorted) {
    for (let round = 0; round < WARM_SCANS; round++) {
      await scanAll(peer)
      for (const key of some.slice(0, RANGE)) await rangeFrom(peer, key)
    }
  }
  await peer.close()
}

async function scanAll(peer) {
  if (peer.scanAll !== undefined) return peer.scanAll()
  let found = 0
  for (const [key, value] of peer.scan()) found += key.length + value.length > 0
  return found
}

async function rangeFrom(peer, key) {
  if (peer.range !== undefined) return peer.range(RANGE, key)
  let found = 0
  for (const pair of peer.scan(RANGE, key)) {
    if (pair.length === 2 && ++found === RANGE) break
  }
  return found
}

async function measure() {
  await warmUp()
  const written = keys()
  const values = Array.from({ length: count }, (_, at) => numbered(at))
  const asked = shuffled(keys())
  const peer = await opened()
  const some = peer.isSlow ? Math.ceil(count / SLOW) : count
  await time('insert', some, () => insertAll(peer, written.slice(0, some), values))
  if (some < count) {
    const rest = written.slice(some).map((key, at) => [key, values[some + at]])
    for (const chunk of chunks(rest)) await peer.insertMany(chunk)
  }
  await time('select', count, () => {
    let length = 0
    for (let at = 0; at < count; at++) length += peer.select(asked[at]).length
    assertCount(length, 16 * count)
  })
  const askedChunks = chunks(asked)
  await time('selectMany', count, async () => {
    let found = 0
    for (const chunk of askedChunks)
      found += (await peer.selectMany(chunk)).filter((value) => value.length === 16).length
    assertCount(found, count)
  })
  if (peer.isSorted) {
    await time('scan', count, async () => assertCount(await scanAll(peer), count))
    const starts = asked.slice(0, Math.ceil(count / 100))
    await time('range', starts.length, async () => {
      for (const start of starts) await rangeFrom(peer, start)
    })
  }
  await peer.close()
  const again = await opened()
  const pairChunks = chunks(written.map((key, at) => [key, values[at]]))
  await time('insertMany', count, async () => {
    for (const chunk of pairChunks) await again.insertMany(chunk)
  })
  await again.close()
}

/** The process's memory once all garbage is given back, which V8 does in its own time. */
async function residentBytes() {
  for (let round = 0; round < 5; round++) {
    globalThis.gc()
    await setTimeout(50)
  }
  return process.memoryUsage().rss
}

/** Calls `use` with all pairs, a chunk at a time, of strings that nobody else has. */
async function eachChunk(use) {
  for (let from = 0; from < count; from += BATCH) {
    const some = Math.min(BATCH, count - from)
    await use(Array.from({ length: some }, (_, at) => [read(keyOf(from + at)), numbered(from + at)]))
  }
}

/**
 * By how much the process grows with a library's pairs: one that has made as many strings before, so that V8 has taken what
 * it makes strings in, and has not used the library, which would leave memory behind.
 */
async function measureMemory() {
  await eachChunk(() => {})
  const before = await residentBytes()
  const peer = await opened()
  await eachChunk((pairs) => peer.insertMany(pairs))
  results.bytes = ((await residentBytes()) - before) / count
  await peer.close()
}

try {
  await (process.argv[4] === 'memory' ? measureMemory() : measure())
} finally {
  rmSync(folder, { recursive: true })
}
process.stdout.write(JSON.stringify(results))
