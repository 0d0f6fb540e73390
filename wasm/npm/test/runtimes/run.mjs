// Runs the tests in another runtime, as `npm test` runs them in Node: with the module that the package takes there, and with
// the small one. What the runtime takes no part in, it meets with the small module only where `all` is asked for: Node's tests do.
//
//   node test/runtimes/run.mjs deno|bun [all]

import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { find } from './find.mjs'

const FLAGS = {
  deno: [
    ...['test', '--allow-all', '--no-check', '--v8-flags=--expose-gc'],
    ...['--reporter=dot', '--import-map=test/runtimes/imports.json'],
  ],
  bun: ['test', '--dots', '--timeout=600000', '--preload=./test/runtimes/bun.js'],
}

const SPARED = ['memory.test.js', 'shared.test.js', 'small.test.js']

const [name, all] = process.argv.slice(2)
const program = find(name)
if (program === undefined) {
  console.error(
    `There is no ${name} here: npm ci --prefix test/runtimes installs it where npm has it for the platform`,
  )
  process.exit(1)
}
const cwd = fileURLToPath(new URL('../..', import.meta.url))
const tests = readdirSync(new URL('..', import.meta.url)).filter((file) => file.endsWith('.test.js'))
for (const condition of ['node', 'browser']) {
  const wanted = tests.filter((file) => condition === 'node' || all || !SPARED.includes(file))
  const args = [...FLAGS[name], `--conditions=${condition}`, ...wanted.map((file) => `./test/${file}`)]
  const { status, error } = spawnSync(program, args, { cwd, stdio: 'inherit' })
  if (error) throw error
  if (status !== 0) process.exit(1)
}
