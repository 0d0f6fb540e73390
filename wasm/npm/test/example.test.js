// The example runs as it is written.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

test('autocomplete', () => {
  const path = fileURLToPath(new URL('../../../examples/wasm/autocomplete.mjs', import.meta.url))
  const shown = execFileSync(process.execPath, [path, 'th', 'sc', 'x'], { encoding: 'utf8' })
  assert.equal(shown, 'th: the (7), that (1), their (1)\nsc: scanned (1)\nx: \n')
})
