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
const installed = join(folder, 'node_modules', 'twindex')
const prebuilt = join(installed, 'prebuilds', `twindex.${platform()}.node`)
after(() => rmSync(folder, { recursive: true }))

const npm = (cwd, ...flags) =>
  execFileSync('npm', flags, { cwd, encoding: 'utf8', shell: process.platform === 'win32' })

before(() => {
  const [{ filename, files }] = JSON.parse(
    npm(root, 'pack', '--json', '--ignore-scripts', '--pack-destination', folder),
  )
  npm(folder, 'install', '--ignore-scripts', '--offline', '--prefix', folder, join(folder, filename))
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
