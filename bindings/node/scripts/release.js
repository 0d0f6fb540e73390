// Lays out what is published:
//
//   node scripts/release.js FOLDER [PACKAGE PLATFORM=MODULE...]
//
// FOLDER gets the package, with an optional dependency for each platform, of which npm installs the one that fits, and a folder
// such as `linux-x64-gnu` for each native module: the package that has it. PACKAGE is this package by default, and the module
// the one that `npm run build` made here. The published packages run no script when they are installed.
//
// The repository's own package.json names none of the platforms, so that installing from a checkout asks no registry.
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { share } from '../../js/share.js'
import { built, root } from './platform.js'

/** What npm calls the parts of a platform's name. */
const PLATFORMS = {
  'linux-x64-gnu': { os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
  'linux-arm64-gnu': { os: ['linux'], cpu: ['arm64'], libc: ['glibc'] },
  'linux-x64-musl': { os: ['linux'], cpu: ['x64'], libc: ['musl'] },
  'linux-arm64-musl': { os: ['linux'], cpu: ['arm64'], libc: ['musl'] },
  'darwin-arm64': { os: ['darwin'], cpu: ['arm64'] },
  'darwin-x64': { os: ['darwin'], cpu: ['x64'] },
  'win32-x64-msvc': { os: ['win32'], cpu: ['x64'] },
  'win32-arm64-msvc': { os: ['win32'], cpu: ['arm64'] },
}

const LICENCES = ['LICENSE-APACHE', 'LICENSE-MIT']

/** What only a checkout needs. */
const CHECKOUT = ['scripts/install.js']

const [folder, source = root, ...modules] = process.argv.slice(2)
if (folder === undefined)
  throw new Error('usage: node scripts/release.js FOLDER [PACKAGE PLATFORM=MODULE...]')
share(resolve(source, 'lib/shared'))
const { platform } = await import('../../js/platform.js')
if (modules.length === 0) modules.push(`${platform()}=${built}`)

const main = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
const isModule = (file) => file.endsWith('.node')
const file = main.files.find(isModule)
const packageOf = (name) => (main.name.startsWith('@') ? `${main.name}-${name}` : `@${main.name}/${name}`)
const { license, repository, publishConfig, engines } = main
const write = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)

for (const module of modules) {
  const [name, path] = module.split(/=(.*)/s)
  if (PLATFORMS[name] === undefined) throw new Error(`${main.name} is not published for ${name}`)
  const own = join(folder, name)
  mkdirSync(own, { recursive: true })
  copyFileSync(path, join(own, file))
  for (const licence of LICENCES) copyFileSync(join(source, licence), join(own, licence))
  const description = `The native module of ${main.name} for ${name}`
  writeFileSync(
    join(own, 'README.md'),
    `# ${packageOf(name)}\n\n${description}. \`npm install ${main.name}\` installs it.\n`,
  )
  const files = [file, 'README.md', ...LICENCES]
  const about = { license, repository, publishConfig, engines, files, main: file }
  write(join(own, 'package.json'), {
    name: packageOf(name),
    version: main.version,
    description,
    ...about,
    ...PLATFORMS[name],
  })
}

const target = join(folder, main.name.split('/').at(-1))
mkdirSync(target, { recursive: true })
const files = main.files.filter((file) => !isModule(file) && !CHECKOUT.includes(file))
for (const file of [...files, 'README.md'])
  cpSync(join(source, file), join(target, file), { recursive: true })
const { devDependencies: _, scripts: __, ...published } = main
published.files = files
published.optionalDependencies = Object.fromEntries(
  Object.keys(PLATFORMS).map((each) => [packageOf(each), main.version]),
)
write(join(target, 'package.json'), published)
