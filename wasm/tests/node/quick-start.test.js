// The quick start in Node on the component's page. `cargo xtask test wasm` gives the component's path.
import assert from 'node:assert/strict'
import { execFileSync, execSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'twindex-jco-'))
after(() => rmSync(folder, { recursive: true }))

test('the page calls the component through jco', () => {
  const page = readFileSync(here('../../../docs/component.md'), 'utf8')
  const [, command, program] = page.match(/```sh\n(npx @bytecodealliance\/jco .*)\n```.*?```js\n(.*?)```/s)
  copyFileSync(process.env.TWINDEX_COMPONENT, join(folder, 'twindex.component.wasm'))
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
  writeFileSync(join(folder, 'program.js'), program)
  symlinkSync(here('node_modules'), join(folder, 'node_modules'), 'junction')
  const options = { cwd: folder, encoding: 'utf8', timeout: 60_000 }
  // The release that the lock names, or none.
  execSync(command, { ...options, env: { ...process.env, npm_config_offline: 'true' } })
  assert.equal(execFileSync(process.execPath, ['program.js'], options), '1815\n')
})
