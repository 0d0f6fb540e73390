// The examples run as they are written.
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

test('autocomplete.mjs completes words', () => {
  const shown = execFileSync(process.execPath, [example('wasm/autocomplete.mjs'), 'th', 'sc', 'x'], {
    encoding: 'utf8',
  })
  assert.equal(shown, 'th: the (7), that (1), their (1)\nsc: scanned (1)\nx: \n')
})
