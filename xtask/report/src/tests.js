/** What the tests ask, and how their figures are shown. */

const THREADS = { param: 'threads', label: 'threads' }
const MEMORY = { bytes_per_pair: 'growth of the process', counted_bytes_per_pair: 'counted by the store' }

/** In the order of the page. `x` is what the charts have below; the other parameters split a test into parts. */
export const SECTIONS = [
  {
    title: 'Index64: strings and sorted strings',
    question: 'How does the throughput of single writes and reads grow with the number of threads?',
    document: 'Index64',
    about:
      'Keys and values of 16 bytes. Strings are inserted into a hash table and selected in another random order; ' +
      'sorted strings are inserted in random order and scanned, one scan_asc_next a pair. In Redis: SET and GET; ' +
      'ZADD of members that are a key and its value, and a ZRANGEBYLEX with LIMIT 0 1 for each pair.',
    tests: [
      {
        id: 'strings',
        title: 'Strings',
        x: THREADS,
        figures: { insert_per_second: 'insert', select_per_second: 'select' },
      },
      {
        id: 'sorted',
        title: 'Sorted strings',
        x: THREADS,
        figures: { insert_per_second: 'insert', scan_asc_next_per_second: 'scan_asc_next' },
      },
      { id: 'strings_memory', title: 'Memory of a pair of strings', figures: MEMORY },
      { id: 'sorted_memory', title: 'Memory of a pair of sorted strings', figures: MEMORY },
    ],
  },
  {
    title: 'Skytable: GET, SET and UPDATE',
    question: 'How many queries a second do so many clients get answered?',
    document: 'Skytable',
    about:
      'Keys and values of 3 bytes, which are letters and digits, each client a thread. SET inserts a key that is ' +
      'not there, UPDATE changes one that is. In Redis: SET, GET and SET XX. The keys are so few that they fit ' +
      'into the caches of the processor.',
    tests: [
      {
        id: 'clients',
        title: 'Queries',
        x: { param: 'clients', label: 'clients' },
        figures: { get_per_second: 'GET', set_per_second: 'SET', update_per_second: 'UPDATE' },
      },
    ],
  },
  {
    title: 'Chronicle Map: YCSB',
    question: 'How do throughput and latency hold up when records are large and few of them popular?',
    document: 'Chronicle Map',
    about:
      'Records of 1,000 bytes, chosen by a zipfian distribution (0.99). A: half reads, half updates. B: 5 % updates. ' +
      'C: reads. D: 5 % inserts, and reads of the newest. E: scans of up to 100 records, 5 % inserts. F: half reads, ' +
      'half reads with an update behind. In Redis: GET and SET of a string; for E a sorted set of all keys, a ' +
      'ZRANGEBYLEX and an MGET. E runs in systems that keep their keys in order.',
    tests: [
      { id: 'ycsb', title: 'Throughput', x: THREADS, figures: { operations_per_second: 'operations' } },
      {
        id: 'ycsb_latency',
        title: 'Latency',
        about:
          'At a rate, an operation counts from the moment at which it should have begun, so that one which keeps ' +
          'others waiting makes theirs longer too (no coordinated omission). As fast as they go there is no such ' +
          'moment: what waited behind a slow operation is not seen. Threads beyond the processors of the machine ' +
          'wait for their turn, which the highest percentiles show.',
        x: { param: 'percentile', label: 'percentile' },
        figures: { microseconds: 'latency' },
        log: true,
        // The workloads of the document; the others are in the tables.
        charted: ({ workload }) => workload === 'A' || workload === 'B',
      },
    ],
  },
  {
    title: 'Elektra: quickdump',
    question: 'How large is the file of a key set, and how long does it take to write and to read it?',
    document: 'Elektra',
    about:
      'Keys by increasing numbers below one parent, a value of 15 bytes and four metadata entries of 15 bytes each; ' +
      'the metadata are pairs under their key. Twindex writes a dump of a sorted table and loads it. LMDB fills a ' +
      'new file in one transaction, and reads all of it where it lies. In Redis a key is a hash: SAVE, which syncs ' +
      'the disk as the others do not, and DEBUG RELOAD.',
    tests: [
      {
        id: 'keyset',
        title: 'Key sets',
        x: { param: 'keys', label: 'keys' },
        figures: {
          file_bytes_per_key: 'file size for a key',
          file_bytes: 'file size',
          set_seconds: 'set',
          get_seconds: 'get',
          set_and_get_seconds: 'set and get',
        },
        log: true,
        linear: ['file_bytes_per_key'],
      },
    ],
  },
  {
    title: 'Caches',
    question:
      'How often does a cache have what is asked for, at what speed, and how much memory does it take?',
    about:
      'Where a key is absent, its pair is inserted. Each library has the hash function that it comes with. schnellru is ' +
      'an LRU map for one thread, here behind a mutex.',
    includes: {
      process:
        'A Rust program calls a library in its own memory, with the settings that the library has by default.',
    },
    tests: [
      {
        id: 'cache_hits',
        title: 'Hits',
        about:
          'In percent of the requests, the first fifth of them not counted. zipf: the key of rank r comes in proportion ' +
          'to 1 / r to this power. Half one-timers: every second request is for a key that comes once. Drifting: the ' +
          'favourites change. loop: the same keys in the same order, again and again, so many times the capacity.',
        x: { param: 'capacity', label: 'pairs that the cache holds' },
        figures: { hits_percent: 'hits' },
        bars: true,
      },
      {
        id: 'cache',
        title: 'Throughput',
        about:
          'Keys and values of 16 bytes. Hits: all keys are present, and a byte of each value is read. Hits and misses: ' +
          'zipf 1.0 over ten times as many keys as the cache holds.',
        x: THREADS,
        figures: { hit_per_second: 'hits', mixed_per_second: 'hits and misses' },
      },
      {
        id: 'cache_memory',
        title: 'Memory of a pair',
        about: 'By how much the process grows for a pair of 16 and 16 bytes, above these 32.',
        figures: { bytes_per_pair: 'bytes above key and value' },
      },
      {
        id: 'cache_pauses',
        title: 'Pauses',
        about:
          'How long a write takes that evicts, and how long a piece of doing nothing takes in turns with it, which is as ' +
          'long as the median write. What both see is the work of other programs on the machine, and reading the clocks. ' +
          "The processor's clock goes on only while the thread runs.",
        x: { param: 'percentile', label: 'percentile' },
        figures: { microseconds: 'write' },
        // What does no work is no rival.
        compared: false,
        log: true,
      },
    ],
  },
  {
    title: 'Redis as a store of blobs',
    question: 'How fast are messages appended, and how much memory does each take?',
    document: 'Performance Battle',
    about:
      'Messages are pairs of a sorted table under increasing keys of eight bytes; each connection is a thread with ' +
      'a list of its own. In Redis: LPUSH, the commands of a batch in one pipeline. LMDB: a file in memory without ' +
      'syncing.',
    tests: [
      {
        id: 'append_batch',
        title: 'Size of batches',
        about: 'Eight connections append to eight lists.',
        x: { param: 'batch', label: 'messages of a batch' },
        figures: { messages_per_second: 'messages' },
      },
      {
        id: 'append_connections',
        title: 'Connections',
        about: 'Batches of 256.',
        x: { param: 'connections', label: 'connections' },
        figures: { messages_per_second: 'messages' },
      },
      {
        id: 'append_memory',
        title: 'Memory per message',
        about:
          'The key included. Of Redis what it counts itself, of LMDB its file, of others the growth of the process.',
        figures: { bytes_per_message: 'bytes per message' },
      },
      {
        id: 'append_durable',
        title: 'Persistence',
        about:
          'Eight connections append batches of 256. Off: in memory alone. Every second: a power cut loses at most a ' +
          'second or so. Always: a batch is on disk when it returns. LMDB commits each batch, and syncs the disk ' +
          'never, every second, or at each commit.',
        x: { param: 'persistence', label: 'syncs' },
        figures: { messages_per_second: 'messages' },
        bars: true,
      },
      {
        id: 'append_large',
        title: 'Large messages',
        about: 'One connection, a message at a time.',
        x: { param: 'blob_bytes', label: 'bytes of a message' },
        figures: { messages_per_second: 'messages' },
        bars: true,
        log: true,
      },
      {
        id: 'append_fill',
        title: 'Filling the memory',
        about: 'One connection appends batches of 256. A flat line is what one wants.',
        x: { param: 'filled_mb', label: 'megabytes of messages' },
        figures: { messages_per_second: 'messages' },
      },
    ],
  },
]

const PARAMS = {
  clock: value => `by the ${value === 'wall' ? 'clock on the wall' : "processor's clock"}`,
  blob_bytes: value => `messages of ${bytes(value)}`,
  workload: value => `workload ${value}`,
  threads: value => (value === 1 ? '1 thread' : `${value} threads`),
}

/** What parameters say, such as `workload A, read, 8 threads`. */
export function paramsText(params) {
  return Object.entries(params)
    .map(([name, value]) => (PARAMS[name] ?? String)(value))
    .join(', ')
}

function bytes(value) {
  if (value >= 1e6) return `${value / 1e6} MB`
  return value >= 1e3 ? `${value / 1e3} KB` : `${value} B`
}

/** What a figure counts, from its name. */
export function unitOf(figure) {
  if (figure.endsWith('_per_second')) return `${figure.startsWith('messages') ? 'messages' : 'operations'}/s`
  if (figure.includes('bytes')) return 'bytes'
  if (figure.endsWith('_percent')) return '%'
  return figure === 'microseconds' ? 'µs' : 's'
}

/** Whether more of a figure is better. */
export function moreIsBetter(figure) {
  return figure.endsWith('_per_second') || figure.endsWith('_percent')
}

/** A figure, short enough for a table. */
export function short(value) {
  if (value === undefined || value === null) return ''
  const size = Math.abs(value)
  if (size >= 1e6) return `${digits(value / 1e6)} M`
  if (size >= 1e4) return `${digits(value / 1e3)} k`
  if (size !== 0 && size < 1e-3) return value.toExponential(2)
  return digits(value)
}

function digits(value) {
  return value.toLocaleString('en', { maximumSignificantDigits: Math.abs(value) >= 1000 ? 4 : 3 })
}
