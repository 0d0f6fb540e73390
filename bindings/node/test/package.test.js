// The packages that are published, as far as they can be tried without building them anew.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { platform } = createRequire(import.meta.url)('../scripts/platform.cjs')
const folder = mkdtempSync(join(tmpdir(), 'twindex-'))
const installed = join(folder, 'node_modules', 'twindex')
after(() => rmSync(folder, { recursive: true }))

const npm = (cwd, ...flags) =>
  execFileSync('npm', flags, {
    cwd,
    encoding: 'utf8',
    shell: process.platform === 'win32',
    stdio: ['ignore', 'pipe', 'pipe'],
  })

/** Packs a package: the tarball, and the files in it. */
function pack(cwd) {
  const [{ filename, files }] = JSON.parse(
    npm(cwd, 'pack', '--json', '--ignore-scripts', '--pack-destination', folder),
  )
  return { tarball: join(folder, filename), files: files.map(({ path }) => path) }
}

const add = (tarball) =>
  npm(folder, 'install', '--ignore-scripts', '--offline', '--omit=optional', '--prefix', folder, tarball)

let main
let native

before(() => {
  execFileSync(process.execPath, [join(root, 'scripts/release.js'), join(folder, 'release')])
  main = pack(join(folder, 'release/twindex'))
  native = pack(join(folder, 'release', platform()))
  add(main.tarball)
})

const run = (...args) => spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
const install = () => run(join(installed, 'scripts/install.js'))
const load = () => run('-e', "new (require('twindex').Store)()")

test('the packages have what they need, and nothing else', () => {
  const isStray = (path) => /test|bench|node_modules|\.rs$|Cargo/.test(path)
  assert.deepEqual(
    main.files.filter((path) => isStray(path) || path.endsWith('.node')),
    [],
  )
  for (const name of [
    'index.js',
    'index.d.cts',
    'level.cjs',
    'keyv.d.ts',
    'lib/native.cjs',
    'scripts/cli.js',
    'README.md',
  ]) {
    assert.ok(main.files.includes(name), name)
  }
  assert.deepEqual(native.files.toSorted(), ['package.json', 'twindex.node'])
  // What is in the repository's own package is the same but for the names of the platforms.
  assert.deepEqual(pack(root).files.toSorted(), main.files.toSorted())
})

test('without a prebuilt module and without sources it says what to do', () => {
  const { status, stderr } = install()
  assert.equal(status, 1)
  assert.match(stderr, /no prebuilt native module for .*, and no sources.*\n.*npm install/)
  assert.doesNotMatch(stderr, /at .*install\.js/)
  assert.match(load().stderr, /twindex has no native module for .*: run "npm rebuild twindex"/)
})

test('a prebuilt module that does not fit is not used', () => {
  const broken = join(folder, 'node_modules/@twindex', platform())
  mkdirSync(broken, { recursive: true })
  writeFileSync(join(broken, 'package.json'), '{}')
  writeFileSync(join(broken, 'twindex.node'), 'no module')
  const { status, stderr } = install()
  assert.equal(status, 1)
  assert.match(stderr, /does not fit/)
  rmSync(broken, { recursive: true })
})

test('with the package for its platform it works in an empty folder, by import and by require', () => {
  add(native.tarball)
  const { status, stderr } = install()
  assert.equal(status, 0, stderr)
  assert.match(stderr, /using the prebuilt native module for/)
  const uses = [
    "const { Store } = require('twindex'); if (!new Store().table('t').insert('a', 'b')) throw 1",
    "import('twindex').then(({ Store }) => { if (!new Store().table('t').insert('a', 'b')) throw 1 })",
    "new (require('twindex/keyv').KeyvTwindex)().set('a', 'b')",
    "const { KeyvTwindex } = require('twindex/keyv'); import('twindex/keyv').then((m) => { if (m.default !== KeyvTwindex) throw 1 })",
  ]
  for (const use of uses) {
    const { status, stderr } = run('-e', use)
    assert.equal(status, 0, stderr)
  }
  assert.match(npm(folder, 'exec', '--offline', '--', 'twindex', '--version'), /^twindex /)
  // Its dependency is left to those who use it.
  assert.match(run('-e', "require('twindex/level')").stderr, /abstract-level/)
})

test("the README's lines run as they are", () => {
  const readme = readFileSync(join(root, '../../README.md'), 'utf8')
  const [, program] = readme.slice(readme.indexOf('### Node')).match(/```js\n([\s\S]*?)```/)
  writeFileSync(join(folder, 'readme.mjs'), program)
  const { stdout, stderr } = run('readme.mjs')
  assert.deepEqual(stdout.trimEnd().split('\n'), ['1815 1', '2026-11-01 a', '2026-11-02 b'], stderr)
})

const TYPED = `
  import { open, Store, type Table, TwindexError } from 'twindex'
  const users: Table = new Store().table('users')
  const value: string | undefined = users.select('ada')
  // @ts-expect-error
  users.insert(1, 2)
  await open('app.twx', { durability: 'always' }).close()
  export default [value, TwindexError.prototype.code]`

const TYPED_REQUIRE = `
  import twindex = require('twindex')
  import keyv = require('twindex/keyv')
  const users: twindex.Table = new twindex.Store().table('users')
  const value: string | undefined = users.select('ada')
  // @ts-expect-error
  users.insert(1, 2)
  export = [value, new keyv.KeyvTwindex()]`

for (const [name, program, module, resolution] of [
  ['typed.mts', TYPED, 'node16', 'node16'],
  ['typed.cts', TYPED_REQUIRE, 'node16', 'node16'],
  ['typed.ts', TYPED, 'esnext', 'bundler'],
]) {
  test(`its typings hold in ${name} with ${resolution} resolution`, () => {
    writeFileSync(join(folder, name), program)
    const { stdout, status } = run(
      join(root, 'node_modules/typescript/bin/tsc'),
      ...['--strict', '--noEmit', '--target', 'es2022', '--lib', 'es2022'],
      ...['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')],
      ...['--module', module, '--moduleResolution', resolution, name],
    )
    assert.equal(status, 0, stdout)
  })
}
