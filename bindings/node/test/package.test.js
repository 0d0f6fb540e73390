// The package that npm makes, as far as it can be tried without building it.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { built, platform } = createRequire(import.meta.url)('../scripts/platform.cjs')
const folder = mkdtempSync(join(tmpdir(), 'twindex-'))
const installed = join(folder, 'package')
const prebuilt = join(installed, 'prebuilds', `twindex.${platform()}.node`)
after(() => rmSync(folder, { recursive: true }))

before(() => {
  const flags = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const [{ filename, files }] = JSON.parse(
    execFileSync('npm', flags, { cwd: root, encoding: 'utf8', shell: process.platform === 'win32' }),
  )
  execFileSync('tar', ['-xzf', filename], { cwd: folder })
  assert.deepEqual(
    files.map(({ path }) => path).filter((path) => /test|bench|node_modules|\.node$|\.rs$/.test(path)),
    [],
  )
})

const install = () =>
  spawnSync(process.execPath, ['scripts/install.js'], { cwd: installed, encoding: 'utf8' })
const load = () =>
  spawnSync(process.execPath, ['-e', "new (require('./index.cjs').Store)()"], {
    cwd: installed,
    encoding: 'utf8',
  })

test('without a prebuilt module and without sources it says what to do', () => {
  const { status, stderr } = install()
  assert.equal(status, 1)
  assert.match(stderr, /no prebuilt native module for .*, and no sources.*\n.*npm install/)
  assert.doesNotMatch(stderr, /at .*install\.js/)
  assert.match(load().stderr, /twindex has no native module for .*: run "npm rebuild twindex"/)
})

test('a prebuilt module that does not fit is not used', () => {
  mkdirSync(join(installed, 'prebuilds'))
  writeFileSync(prebuilt, 'no module')
  const { status, stderr } = install()
  assert.equal(status, 1)
  assert.match(stderr, /does not fit/)
})

test('a prebuilt module that fits is used', () => {
  copyFileSync(built, prebuilt)
  const { status, stderr } = install()
  assert.equal(status, 0, stderr)
  assert.match(stderr, /using the prebuilt native module/)
  assert.equal(load().status, 0)
})
