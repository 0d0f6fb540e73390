// The packages that are published, as far as they can be tried without building them anew.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { platform } from '../lib/shared/platform.js'
import { folder, here } from './helpers.js'

const root = here('..')
const installed = join(folder, 'node_modules', 'twindex')

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

const LICENCES = ['LICENSE-APACHE', 'LICENSE-MIT']
const CHECKOUT = ['scripts/install.js']

let main
let native

before(() => {
  execFileSync(process.execPath, [join(root, 'scripts/release.js'), join(folder, 'release')])
  main = pack(join(folder, 'release/twindex'))
  native = pack(join(folder, 'release', platform()))
  add(main.tarball)
  // They come with a checkout and what `npm pack` makes of it, and are not published.
  for (const name of CHECKOUT) cpSync(join(root, name), join(installed, name))
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
  const code = ['index.js', 'level.js', 'lib/native.js', 'lib/shared/codecs.js', 'scripts/cli.js']
  const typings = ['index', 'keyv', 'unstorage', 'express-session', 'lib/shared/types'].map(
    (name) => `${name}.d.ts`,
  )
  for (const name of [...code, ...typings, 'README.md', ...LICENCES])
    assert.ok(main.files.includes(name), name)
  assert.deepEqual(native.files.toSorted(), [...LICENCES, 'README.md', 'package.json', 'twindex.node'])
  const published = JSON.parse(readFileSync(join(folder, 'release/twindex/package.json'), 'utf8'))
  assert.equal(published.scripts, undefined, 'nothing runs when it is installed')
  assert.ok(`@twindex/${platform()}` in published.optionalDependencies)
  // The repository's own package has the same files, except the module and its build scripts.
  assert.deepEqual(
    pack(root)
      .files.filter((path) => path !== 'twindex.node' && !CHECKOUT.includes(path))
      .toSorted(),
    main.files.toSorted(),
  )
})

test('without a prebuilt module and without sources it says what to do', () => {
  const { status, stderr } = install()
  assert.equal(status, 1)
  assert.match(stderr, /no prebuilt native module for .*, and no sources.*\n.*npm install/)
  assert.doesNotMatch(stderr, /at .*install\.js/)
  assert.match(load().stderr, /twindex has no native module here: .* optional package @twindex\//)
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

test('what npm pack makes of a checkout can be installed on such a machine, without a compiler', () => {
  // It once could not be installed, and did not say what to do instead.
  const own = mkdtempSync(join(folder, 'packed-'))
  writeFileSync(join(own, 'package.json'), '{ "private": true }')
  const packed = spawnSync('npm', ['pack', '--json', '--pack-destination', own], {
    cwd: root,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  assert.match(packed.stderr, /has the native module for .*, and no other.*release\.js/)
  const [{ filename }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('[')))
  npm(own, 'install', '--offline', '--omit=optional', '--omit=peer', join(own, filename))
  const program = "new (require('twindex').Store)().table('t').set('a', 'b')"
  const { status, stderr } = spawnSync(process.execPath, ['-e', program], { cwd: own, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
})

test('an adapter finds its peer where the program is, and says what to do where it is not', () => {
  // A package that is a link once looked for its peers in the checkout alone.
  const own = mkdtempSync(join(folder, 'linked-'))
  cpSync(installed, join(own, 'twindex'), { recursive: true })
  cpSync(join(root, 'twindex.node'), join(own, 'twindex/twindex.node'))
  const modules = join(own, 'project/node_modules')
  mkdirSync(modules, { recursive: true })
  symlinkSync(join(own, 'twindex'), join(modules, 'twindex'), 'junction')
  const program = "import { TwindexLevel } from 'twindex/level'; new TwindexLevel()"
  const options = { cwd: join(own, 'project'), encoding: 'utf8' }
  const use = () => spawnSync(process.execPath, ['--input-type=module', '-e', program], options)
  const isTold =
    /twindex\/level needs the package abstract-level.*npm install abstract-level.*--install-links/
  assert.match(use().stderr, isTold)
  const level = realpathSync(join(root, 'node_modules/abstract-level'))
  symlinkSync(level, join(modules, 'abstract-level'), 'junction')
  const { status, stderr } = use()
  assert.equal(status, 0, stderr)
})

test('its typings are found, also without the newest library', () => {
  const program = `
    import { type Table, Store } from 'twindex'
    const users: Table = new Store().table('users')
    // @ts-expect-error
    users.insert(1, 2)`
  writeFileSync(join(folder, 'typed.mts'), program)
  const { stdout, status } = run(
    join(root, 'node_modules/typescript/bin/tsc'),
    ...['--strict', '--noEmit', '--target', 'es2022', '--lib', 'es2022', '--module', 'node16'],
    ...['--types', 'node', '--typeRoots', join(root, 'node_modules/@types'), 'typed.mts'],
  )
  assert.equal(status, 0, stdout)
})
