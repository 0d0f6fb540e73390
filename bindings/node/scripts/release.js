// Lays out what is published: `node scripts/release.js FOLDER`, after `npm run build`. The folder gets `twindex`, the package
// with an optional dependency for each platform, of which npm installs the one that fits, and `linux-x64-gnu` or whatever
// this machine is: the package that has the module built on it. The repository's own package.json names none of them, so
// that installing from a checkout asks no registry.
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { built, packageOf, platform, root } from './platform.js'
import { share } from './share.js'

/** What npm calls the parts of a platform's name. */
const PLATFORMS = {
  'linux-x64-gnu': { os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
  'linux-arm64-gnu': { os: ['linux'], cpu: ['arm64'], libc: ['glibc'] },
  'linux-x64-musl': { os: ['linux'], cpu: ['x64'], libc: ['musl'] },
  'darwin-arm64': { os: ['darwin'], cpu: ['arm64'] },
  'darwin-x64': { os: ['darwin'], cpu: ['x64'] },
  'win32-x64-msvc': { os: ['win32'], cpu: ['x64'] },
}

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: node scripts/release.js FOLDER')

share()
const main = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const write = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)

const name = platform()
if (PLATFORMS[name] === undefined) throw new Error(`twindex is not published for ${name}`)
const own = join(folder, name)
mkdirSync(own, { recursive: true })
copyFileSync(built, join(own, 'twindex.node'))
const licences = ['LICENSE-APACHE', 'LICENSE-MIT']
for (const file of licences) copyFileSync(join(root, file), join(own, file))
write(join(own, 'package.json'), {
  name: packageOf(name),
  version: main.version,
  description: `The native module of twindex for ${name}`,
  license: main.license,
  engines: main.engines,
  files: ['twindex.node', ...licences],
  ...PLATFORMS[name],
})

const target = join(folder, 'twindex')
mkdirSync(target, { recursive: true })
const files = main.files.filter((file) => file !== basename(built))
for (const file of [...files, 'README.md']) cpSync(join(root, file), join(target, file), { recursive: true })
const { devDependencies: _, ...published } = main
published.files = files
published.scripts = { install: main.scripts.install }
published.optionalDependencies = Object.fromEntries(
  Object.keys(PLATFORMS).map((each) => [packageOf(each), main.version]),
)
write(join(target, 'package.json'), published)
