// Every example of the guide, run as it stands in a project that has the package. What a comment behind `console.log` says is
// what it prints.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const guide = join(root, '../../docs/node')
const folder = mkdtempSync(join(tmpdir(), 'twindex-docs-'))
after(() => rmSync(folder, { recursive: true }))
mkdirSync(join(folder, 'node_modules'))
for (const [name, path] of [
  ['twindex', root],
  ['keyv', join(root, 'node_modules/keyv')],
]) {
  symlinkSync(path, join(folder, 'node_modules', name), 'junction')
}

for (const page of readdirSync(guide)) {
  const examples = readFileSync(join(guide, page), 'utf8').matchAll(/^```js\n(.*?)^```/gms)
  let count = 0
  for (const [, source] of examples) {
    test(`${page}, example ${++count}`, () => {
      const name = `${page}-${count}.mjs`
      writeFileSync(join(folder, name), source)
      const printed = execFileSync(process.execPath, [name], { cwd: folder, encoding: 'utf8' })
      for (const [, said] of source.matchAll(/console\.log\(.*\) \/\/ ([^:\n]*)/g)) {
        assert.ok(printed.includes(said), `${said} is not in ${printed}`)
      }
    })
  }
}
