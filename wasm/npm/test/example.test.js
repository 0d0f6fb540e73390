// The example runs as it is written.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const example = (name) => fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url))

test('tour.mjs prints what the program prints in every language', () => {
  const shown = execFileSync(process.execPath, [example('wasm/tour.mjs')], { encoding: 'utf8' })
  assert.equal(shown, readFileSync(example('tour.txt'), 'utf8'))
})
