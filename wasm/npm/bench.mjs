// The two tests of the Index64 report, on the module in Node's one thread: `node bench.mjs --help`.

import { makeKeys } from './bench/keys.js'
import { readOptions } from './bench/options.js'
import { startProgress, writeReport } from './bench/report.js'
import { runAll } from './bench/run.js'

try {
  const options = readOptions(process.argv.slice(2))
  const keys = makeKeys(options)
  const progress = startProgress(options)
  try {
    writeReport(options, keys.length, await runAll(options, keys, progress.step))
  } finally {
    progress.stop()
  }
} catch (error) {
  console.error(`bench: ${error.message}`)
  process.exitCode = 1
}
