// Caches beside lru-cache: hits, writes, and both mixed, with entries of 100 bytes.
//
//   npm install --no-save lru-cache
//   node bench/cache.js [ENTRIES]
//
// Each line has the millions of operations a second of the best of five runs, the libraries in turn. In the mixed workload keys
// are asked for by a zipf distribution of exponent 0.9 over ten times the capacity, and what is absent is written: ten times as
// many as the cache holds, as it begins full of others and learns.

import { Store } from 'twindex'

const ENTRIES = Number(process.argv[2] ?? 100_000)
const ROUNDS = 5
const VALUE = 'x'.repeat(84)

/** A key of 16 characters, as a string of its own. */
const key = (number) => Buffer.from(`key-${String(number).padStart(12, '0')}`).toString('latin1')

let seed = 64
function random() {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

const works = {
  hits(cache, keys) {
    let hits = 0
    for (const name of keys) if (cache.get(name) !== undefined) hits++
    return hits
  },
  writes(cache, keys) {
    for (const name of keys) cache.set(name, VALUE)
    return 0
  },
  mixed(cache, keys) {
    let hits = 0
    for (const name of keys) {
      if (cache.get(name) === undefined) cache.set(name, VALUE)
      else hits++
    }
    return hits
  },
}

/** Numbers below `count`, the smaller the more often. */
function zipf(count, draws) {
  const sums = new Float64Array(count)
  for (let rank = 0, sum = 0; rank < count; rank++) sums[rank] = sum += 1 / (rank + 1) ** 0.9
  return Array.from({ length: draws }, () => {
    const wanted = random() * sums[count - 1]
    let [low, high] = [0, count - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle] < wanted) low = middle + 1
      else high = middle
    }
    return low
  })
}

const makers = { twindex: () => new Store().cache('c', { max: ENTRIES }) }
try {
  const { LRUCache } = await import('lru-cache')
  makers['lru-cache'] = () => new LRUCache({ max: ENTRIES })
} catch {
  console.error('lru-cache is not here: npm install --no-save lru-cache')
}

const hot = Array.from({ length: ENTRIES }, (_, at) => at)
const shuffled = hot.map((number) => [random(), number]).sort(([a], [b]) => a - b)
const keys = {
  hits: shuffled.map(([, number]) => key(number)),
  writes: hot.map((number) => key(number + ENTRIES)),
  mixed: zipf(10 * ENTRIES, 10 * ENTRIES).map((rank) => key((rank * 7919) % (10 * ENTRIES))),
}

const best = {}
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, make] of Object.entries(makers)) {
    best[name] ??= {}
    for (const [work, run] of Object.entries(works)) {
      const cache = make()
      works.writes(cache, hot.map(key))
      const start = performance.now()
      const hits = run(cache, keys[work])
      const rate = keys[work].length / (performance.now() - start) / 1000
      best[name][work] = Math.max(best[name][work] ?? 0, rate)
      if (work === 'mixed') best[name]['hit ratio'] = hits / keys.mixed.length
    }
  }
}
console.table(best)
