/** A report as `cargo xtask report` writes it. */

function figure(median) {
  return { median, least: median * 0.9, greatest: median * 1.1, rounds: 3 }
}

function outcome(test, system, params, figures, { host = 'rust', reach = 'process' } = {}) {
  const entries = Object.entries(figures).map(([name, value]) => [name, figure(value)])
  return { test, system, host, reach, params, operations: 1000, figures: Object.fromEntries(entries) }
}

const LOOPBACK = { reach: 'loopback' }
const SYSTEMS = [
  ['twindex', 4, {}],
  ['papaya', 2, {}],
  ['redis', 0.05, LOOPBACK],
]

function strings([system, scale, how]) {
  return [1, 2].map(threads => {
    const rate = scale * threads * 1e6
    return outcome(
      'strings',
      system,
      { threads },
      { insert_per_second: rate / 2, select_per_second: rate },
      how,
    )
  })
}

function latency([system, scale, how]) {
  return ['A', 'C'].flatMap(workload =>
    ['average', '50', '99', 'worst'].map((percentile, place) =>
      outcome(
        'ycsb_latency',
        system,
        { workload, operation: 'read', threads: 8, rate: 'as fast as they go', percentile },
        { microseconds: 10 ** place / scale },
        how,
      ),
    ),
  )
}

function memory([system, scale, how]) {
  return [100, 20_000].map(blob_bytes =>
    outcome('append_memory', system, { blob_bytes }, { bytes_per_message: blob_bytes + scale }, how),
  )
}

const caches = [
  ...[
    ['twindex', 60],
    ['moka', 50],
  ].flatMap(([system, hits]) =>
    ['zipf 0.9', 'loop 1.1x'].flatMap(trace =>
      [1000, 10_000].map(capacity =>
        outcome('cache_hits', system, { trace, capacity }, { hits_percent: hits + capacity / 1000 }),
      ),
    ),
  ),
  ...['twindex', 'no work'].map((system, place) =>
    outcome('cache_pauses', system, { clock: 'wall', percentile: '99' }, { microseconds: 2 - place }),
  ),
]

export const sample = {
  made_at: 1_800_000_000,
  version: '0.1.0',
  commit: 'abc',
  command: 'cargo xtask report',
  scale: 'quick',
  machine: {
    processor: 'Some processor',
    threads: 2,
    memory_bytes: 2 ** 34,
    system: 'Linux',
    rust: 'rustc 1.95.0',
    python: 'Python 3.11.7',
    node: 'v20.20.2',
  },
  remarks: ['Redis server v=7'],
  results: [
    ...SYSTEMS.flatMap(strings),
    outcome('strings', 'twindex', { threads: 1 }, { insert_per_second: 1e6 }, { host: 'python' }),
    ...SYSTEMS.flatMap(latency),
    ...SYSTEMS.flatMap(memory),
    ...caches,
  ],
  published: [
    {
      document: 'Index64 benchmark report, 2017',
      machine: 'Another machine',
      includes: 'A request and a reply.',
      results: [
        {
          test: 'strings',
          system: 'Index64 6.0',
          params: { threads: 2 },
          figures: { insert_per_second: 98_000 },
        },
        {
          test: 'strings',
          system: 'Index64 6.0',
          params: { threads: 3 },
          figures: { insert_per_second: 148_400 },
        },
      ],
    },
  ],
  comparison: null,
}

/** The same without what needs Redis. */
export const withoutRedis = {
  ...sample,
  remarks: ['Redis was not measured. Redis is missing: apt-get install redis-server'],
  results: sample.results.filter(({ reach }) => reach === 'process'),
}

/** The same beside an older one. */
export const compared = {
  ...sample,
  comparison: {
    made_at: 1_700_000_000,
    commit: 'old',
    machine: 'An older machine',
    changes: ['better', 'worse', 'noise'].map((verdict, place) => ({
      outcome: outcome('strings', place === 1 ? 'papaya' : 'twindex', { threads: 1 }, {}),
      figure: 'insert_per_second',
      // biome-ignore lint/suspicious/noThenProperty: the report's name for the older figure
      then: figure(1e6),
      now: figure(2e6),
      better: 2,
      others: null,
      verdict,
    })),
  },
}
