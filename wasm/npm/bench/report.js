// What the user sees: a progress bar, and a table or JSON at the end.
import { readFileSync, writeFileSync } from 'node:fs'
import { Presets, SingleBar } from 'cli-progress'
import Table from 'cli-table3'
import { STEPS } from './options.js'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** A bar on a terminal, and nothing elsewhere. */
export function startProgress({ quiet, tests, rounds }) {
  if (quiet || !process.stderr.isTTY) return { step() {}, stop() {} }
  const format = '{bar} {value}/{total} {step}'
  const bar = new SingleBar({ format, stream: process.stderr, clearOnComplete: true }, Presets.shades_classic)
  const steps = tests.reduce((sum, test) => sum + STEPS[test].length, 0)
  bar.start(steps * rounds, 0, { step: '' })
  return { step: (name) => bar.increment(1, { step: name }), stop: () => bar.stop() }
}

function formatTable(results) {
  const head = ['Steps', 'Keys', 'Threads', 'System time (ms)', 'Operations/s', 'Bytes/pair']
  const colAligns = ['left', ...Array(head.length - 1).fill('right')]
  const table = new Table({ head, colAligns, style: { head: [], border: [] } })
  const number = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
  for (const { step, keys, threads, milliseconds, ops, bytes_per_pair: bytes } of results) {
    const cells = [keys, threads, milliseconds, ops].map((value) => number.format(value))
    table.push([step, ...cells, bytes === null ? '' : number.format(bytes)])
  }
  return table.toString()
}

export function writeReport(options, pairs, results) {
  const report = {
    host: 'wasm-node',
    version,
    pairs,
    key_bytes: options.keyBytes,
    value_bytes: options.valueBytes,
    keys_from: options.keysFrom,
    rounds: options.rounds,
    results,
  }
  const text = `${JSON.stringify(report, null, 1)}\n`
  if (options.json === '-') {
    process.stdout.write(text)
    return
  }
  if (options.json !== undefined) writeFileSync(options.json, text)
  console.log(formatTable(results))
}
