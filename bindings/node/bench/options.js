// What the command line asks for.
import { parseArgs } from 'node:util'

/** What holds the pairs of each test: ours, and with `--beside`; as `peers/adapters.js` calls it. */
export const SYSTEMS = {
  strings: ['twindex hash', 'Map'],
  sorted: ['twindex sorted', 'sorted-btree'],
  clients: ['twindex hash', 'Map'],
}

/** What each test measures: a write, a read and an update. */
export const STEPS = {
  strings: ['unordered_write', 'unordered_read'],
  sorted: ['sorted_write', 'sorted_read'],
  clients: ['clients_write', 'clients_read', 'clients_update'],
}

const HELP = `node bench.mjs [options]
  --test strings,sorted  the tests to run, of strings, sorted and clients
  --pairs 1000000        pairs in all
  --threads 1,2          threads, one run for each number
  --key-bytes 16         length of the random keys, in hexadecimal digits
  --value-bytes 16       length of the values
  --rounds 3             rounds, of which the median counts
  --keys-from FILE       keys from a file, one a line; --pairs caps their number
  --json FILE            also write JSON there; - writes it instead of the table
  --quiet                no progress bar
  --beside               measure what programs use today instead, with one thread: a Map and sorted-btree
  --peers                compare with other libraries instead: --peers --help`

const FLAGS = {
  test: { type: 'string', default: 'strings,sorted' },
  pairs: { type: 'string' },
  threads: { type: 'string', default: '1,2' },
  'key-bytes': { type: 'string', default: '16' },
  'value-bytes': { type: 'string', default: '16' },
  rounds: { type: 'string', default: '3' },
  'keys-from': { type: 'string' },
  json: { type: 'string' },
  quiet: { type: 'boolean', default: false },
  beside: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
}

function count(text, flag, least) {
  const number = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number) || number < least) {
    throw new Error(`--${flag} takes whole numbers from ${least} on, not "${text}"`)
  }
  return number
}

function tests(text) {
  const names = text.split(',')
  for (const name of names) {
    if (!(name in STEPS)) throw new Error(`--test takes strings, sorted and clients, not "${name}"`)
  }
  return names
}

/** The options, or the end of the process for `--help`. */
export function readOptions(argv) {
  const { values } = parseArgs({ args: argv, options: FLAGS })
  if (values.help) {
    console.log(HELP)
    process.exit()
  }
  const keysFrom = values['keys-from'] ?? null
  const threads = values.threads.split(',').map((text) => count(text, 'threads', 1))
  if (values.beside && threads.some((number) => number > 1)) {
    throw new Error(`threads cannot share a Map: --beside takes --threads 1, not "${values.threads}"`)
  }
  return {
    tests: tests(values.test),
    pairs:
      values.pairs === undefined
        ? keysFrom === null
          ? 1_000_000
          : Infinity
        : count(values.pairs, 'pairs', 1),
    threads,
    keyBytes: count(values['key-bytes'], 'key-bytes', 1),
    valueBytes: count(values['value-bytes'], 'value-bytes', 0),
    rounds: count(values.rounds, 'rounds', 1),
    keysFrom,
    json: values.json,
    quiet: values.quiet,
    beside: values.beside,
  }
}
