// The two tests of the Index64 report, on one shared store and a worker for each thread: `node bench.mjs --help`. With
// `--peers` the same work in other libraries: `node bench.mjs --peers --help`.

import { makeKeys } from './bench/keys.js'
import { readOptions } from './bench/options.js'
import { startProgress, writeReport } from './bench/report.js'
import { runAll } from './bench/run.js'

async function compare() {
  const { runPeers } = await import('./bench/peers/run.js')
  await runPeers(process.argv.slice(2).filter((flag) => flag !== '--peers'))
}

async function measure() {
  const options = readOptions(process.argv.slice(2))
  const keys = makeKeys(options)
  const progress = startProgress(options)
  try {
    writeReport(options, keys.count, await runAll(options, keys, progress.step))
  } finally {
    progress.stop()
  }
}

try {
  await (process.argv.includes('--peers') ? compare() : measure())
} catch (error) {
  console.error(`bench: ${error.message}`)
  process.exitCode = 1
}
