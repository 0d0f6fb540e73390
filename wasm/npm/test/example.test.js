// The example runs as it is written.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

test('autocomplete', () => {
  const path = fileURLToPath(new URL('../../../examples/wasm/autocomplete.mjs', import.meta.url))
  const shown = execFileSync(process.execPath, [path, 'th', 'sc', 'x'], { encoding: 'utf8' })
  assert.equal(shown, 'th: the (7), that (1), their (1)\nsc: scanned (1)\nx: \n')
})

test("the README's lines", async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, lines] = readme.match(/```js\n([\s\S]*?)```/)
  const run = ['--input-type=module', '--eval', lines]
  const shown = execFileSync(process.execPath, run, {
    cwd: new URL('.', import.meta.url),
    encoding: 'utf8',
  })
  assert.equal(shown, '2026-11-01 a\n2026-11-02 b\n')
})
