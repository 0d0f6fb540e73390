// The same work in Twindex and in what people use today: `node bench/peers/run.js --help`.
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { PEERS } from './adapters.js'
import { measureWorkers } from './workers.js'

const HELP = `node bench.mjs --peers [options]
  --pairs 1000000   pairs of 16 and 16 characters
  --rounds 3        rounds, of which the median counts; each library's is a process of its own
  --only a,b        these libraries: ${Object.keys(PEERS).join(', ')}
  --json FILE       also write the figures there
  --chart FILE      also draw them, as SVG`

const STEPS = ['insert', 'select', 'insertMany', 'selectMany', 'scan', 'range', 'bytes']
/** Where less is better. */
const isLess = (step) => step === 'bytes'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]

function run(...args) {
  const output = execFileSync(process.execPath, ['--expose-gc', here('./child.js'), ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(output)
}

const round = (peer, pairs) => ({ ...run(peer, String(pairs)), ...run(peer, String(pairs), 'memory') })

/** Every library's rounds, one after the other, so that all of them meet what else runs on the machine. */
function measure(peers, pairs, rounds) {
  const figures = Object.fromEntries(peers.map((peer) => [peer, {}]))
  for (let at = 0; at < rounds; at++) {
    for (const peer of peers) {
      for (const [step, figure] of Object.entries(round(peer, pairs))) {
        figures[peer][step] ??= []
        figures[peer][step].push(figure)
      }
    }
  }
  for (const steps of Object.values(figures)) {
    for (const step of Object.keys(steps)) steps[step] = median(steps[step])
  }
  return figures
}

function show(step, figure) {
  if (figure === undefined) return ''
  if (step === 'bytes') return figure.toFixed(0)
  return step === 'range' ? `${(1e6 / figure).toFixed(1)} us` : `${(figure / 1e6).toFixed(2)} M/s`
}

/** How many times better a table of Twindex is. */
function ratio(step, ours, theirs) {
  if (ours === undefined || theirs === undefined) return ''
  return `${(isLess(step) ? theirs / ours : ours / theirs).toFixed(2)}x`
}

export async function runPeers(args) {
  const { values } = parseArgs({
    args,
    options: {
      pairs: { type: 'string', default: '1000000' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', default: Object.keys(PEERS).join(',') },
      json: { type: 'string' },
      chart: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(HELP)
    return
  }
  if (!existsSync(here('./node_modules'))) {
    throw new Error('the libraries to compare with are not installed: npm install --prefix bench/peers')
  }
  const peers = values.only.split(',')
  const unknown = peers.find((peer) => PEERS[peer] === undefined)
  if (unknown !== undefined)
    throw new Error(`--only takes ${Object.keys(PEERS).join(', ')}, not "${unknown}"`)
  const [pairs, rounds] = [Number(values.pairs), Number(values.rounds)]
  const figures = measure(peers, pairs, rounds)
  const workers = await measureWorkers(pairs, rounds, peers.includes('lmdb'))

  const Table = createRequire(import.meta.url)('cli-table3')
  const style = { head: [], border: [] }
  const table = new Table({ head: ['', ...STEPS], style })
  for (const peer of peers) table.push([peer, ...STEPS.map((step) => show(step, figures[peer][step]))])
  console.log(table.toString())
  for (const own of peers.filter((peer) => peer.startsWith('twindex'))) {
    const ratios = new Table({ head: [`${own} is`, ...STEPS], style })
    for (const peer of peers.filter((each) => !each.startsWith('twindex'))) {
      ratios.push([peer, ...STEPS.map((step) => ratio(step, figures[own][step], figures[peer][step]))])
    }
    console.log(ratios.toString())
  }
  const parallel = new Table({ head: ['2 workers to 1', 'get', 'put'], style })
  for (const [peer, { get, put }] of Object.entries(workers)) {
    parallel.push([
      peer,
      ...[get, put].map(
        ([one, two]) =>
          `${(one / 1e6).toFixed(2)} -> ${(two / 1e6).toFixed(2)} M/s, ${(two / one).toFixed(2)}x`,
      ),
    ])
  }
  console.log(parallel.toString())
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify({ pairs, rounds, figures, workers }, null, 1)}\n`)
  if (values.chart !== undefined) {
    const { draw } = await import('./chart.js')
    writeFileSync(values.chart, draw(STEPS, figures))
  }
}
