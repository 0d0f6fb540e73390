// Tables in a cluster beside ioredis doing the same by hand.
//
// `npm install --prefix ../node/bench`, `npm run build`, then `node bench.mjs`, which starts `cargo xtask cluster`; or with
// `TWINDEX_CLUSTER_URL` where servers run already. `cargo xtask bench cluster_node` does all of it and shows ratios.

import { createRequire } from 'node:module'

import { connect } from './index.js'
import { cluster } from './test/cluster.js'

const Redis = createRequire(new URL('../node/bench/package.json', import.meta.url))('ioredis')
const PAIRS = 50_000

/** A key and a value of 16 bytes; the keys of consecutive numbers lie far apart. */
function pair(number) {
  const key = BigInt.asUintN(64, BigInt(number) * 0x9e3779b97f4a7c15n)
  return [key.toString(16).padStart(16, '0'), String(number).padStart(16, '0')]
}

const pairs = Array.from({ length: PAIRS }, (_, number) => pair(number))
const one = (number) => pairs[(number * 7) % PAIRS]
const thousand = (number) => Array.from({ length: 1000 }, (_, at) => pairs[(number * 1000 + at * 13) % PAIRS])

/** The medians of calls that are made in turn, in nanoseconds. */
async function median(rounds, ...calls) {
  const times = calls.map(() => [])
  for (let number = 0; number < rounds * 1.1; number++) {
    for (const [place, call] of calls.entries()) {
      const started = performance.now()
      await call(number)
      if (number >= rounds * 0.1) times[place].push((performance.now() - started) * 1e6)
    }
  }
  return times.map((spent) => spent.sort((a, b) => a - b)[spent.length >> 1])
}

/** How many calls a second are made, 50 at once. */
async function rate(call, each = 400) {
  const started = performance.now()
  await Promise.all(
    Array.from({ length: 50 }, async (_, task) => {
      for (let number = 0; number < each; number++) await call(task * each + number)
    }),
  )
  return ((50 * each) / (performance.now() - started)) * 1000
}

/** Prints lines of JSON, as `cargo xtask bench` reads them. Of rates (`/s`) more is better. */
function row(figure, unit, ours, theirs) {
  for (const [system, value] of [
    ['twindex', ours],
    ['ioredis', theirs],
  ])
    if (value !== undefined) console.log(JSON.stringify({ system, figure, unit, value, params: {} }))
}

const { url, end } = await cluster()
const hosts = url.replace('redis://', '').split(',')
const client = new Redis.Cluster(
  hosts.map((host) => ({ host: host.split(':')[0], port: Number(host.split(':')[1]) })),
)
const store = await connect(url, { namespace: `bench${process.pid}` })
const users = await store.table('hash')
const log = await store.table('sorted', { index: 'sorted' })
for (let start = 0; start < PAIRS; start += 5000) {
  await users.upsertMany(pairs.slice(start, start + 5000))
  await log.upsertMany(pairs.slice(start, start + 5000))
}

const name = `hand${process.pid}:`
const fcall = (number) => {
  const tag = number % 16
  return client.fcall('twindex_4_upsert', 2, `{${tag}}pairs`, `{${tag}}order`, ...one(number))
}
const verbs = [
  ['upsert, hash: SET', (n) => users.upsert(...one(n)), (n) => client.set(name + one(n)[0], one(n)[1])],
  ['select, hash: GET', (n) => users.select(one(n)[0]), (n) => client.get(name + one(n)[0])],
  ['upsert, sorted: FCALL', (n) => log.upsert(...one(n)), fcall],
]
for (const [what, ours, theirs] of verbs) {
  const spent = await median(1500, ours, theirs)
  row(`${what}, one at a time`, 'ns', ...spent)
  row(`${what}, 50 at once`, '/s', await rate(ours), await rate(theirs))
}
// Its pipelines take keys of one slot alone, so these go out all at once.
const get = (number) => Promise.all(thousand(number).map(([key]) => client.get(name + key)))
const set = (number) => Promise.all(thousand(number).map(([key, value]) => client.set(name + key, value)))
row(
  '1,000 reads in one batch',
  'ns',
  ...(await median(30, (n) => users.selectMany(thousand(n).map(([key]) => key)), get)),
)
row('1,000 writes in one batch', 'ns', ...(await median(30, (n) => users.upsertMany(thousand(n)), set)))
const [few] = await median(300, async (number) => {
  for await (const _ of log.scan({ gte: one(number)[0], limit: 100 }));
})
row('100 pairs of a sorted table', 'ns', few)
const started = performance.now()
let count = 0
for await (const _ of log.scan()) count++
row('whole scan', '/s', (count / (performance.now() - started)) * 1000)
await store.close()
client.disconnect()
end()
