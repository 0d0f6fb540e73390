/** A report as `cargo xtask demo` writes it. */

import { STEPS } from '../src/charts.js'

function result(step, threads, scale) {
  const isWrite = step.endsWith('_write')
  return {
    step,
    keys: 1000,
    threads,
    milliseconds: 1.25 * scale,
    ops: 800_000 / scale,
    rounds_ms: [1.25 * scale],
    bytes_per_pair: isWrite ? 50.5 : null,
    resident_bytes_per_pair: isWrite && threads === 1 ? 60.5 : null,
  }
}

function host(name, threads, scale) {
  return {
    host: name,
    version: '0.1.0',
    pairs: 1000,
    key_bytes: 16,
    value_bytes: 16,
    keys_from: null,
    rounds: 1,
    results: threads.flatMap(count => Object.keys(STEPS).map(step => result(step, count, scale))),
  }
}

export const sample = {
  made_at: 1_800_000_000,
  command: 'cargo xtask demo',
  machine: {
    processor: 'Some processor',
    threads: 2,
    memory_bytes: 2 ** 34,
    system: 'Linux',
    rust: 'rustc 1.95.0',
    python: 'Python 3.11.7',
    node: 'v20.20.2',
  },
  hosts: [
    host('rust', [1, 2], 1),
    host('python', [1, 2], 4),
    host('node', [1, 2], 4),
    host('wasmtime', [1], 2),
    host('wasm-node', [1], 5),
  ],
}
