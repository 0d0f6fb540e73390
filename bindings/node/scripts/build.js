// Builds a package's native module with cargo and puts it beside its index.js, and what all packages share into its lib/shared:
//
//   node scripts/build.js [--dev] [FOLDER]
//
// FOLDER is this package by default. `--dev` builds without optimising.
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, renameSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { share } from '../../js/share.js'
import { root } from './platform.js'

const isDev = process.argv.includes('--dev')
const folder = resolve(process.argv.slice(2).find((word) => !word.startsWith('-')) ?? root)
const { files } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
const file = files.find((name) => name.endsWith('.node'))
/** `twindex-node` makes `twindex.node`. */
const crate = file.replace('.', '-')

/** The file that cargo made, wherever its target folder is. */
function cargoBuild() {
  const flags = ['build', '--package', crate, '--message-format', 'json-render-diagnostics']
  if (!isDev) flags.push('--release')
  const cargo = spawnSync('cargo', flags, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (cargo.error?.code === 'ENOENT') {
    throw new Error(
      'twindex: cargo is not on the path; install Rust from https://rustup.rs and run this again',
    )
  }
  if (cargo.error) throw cargo.error
  if (cargo.status !== 0)
    throw new Error(`twindex: cargo build failed (${cargo.signal ?? `exit ${cargo.status}`})`)
  const lines = cargo.stdout.split('\n').filter((line) => line.startsWith('{'))
  const artifact = lines
    .map((line) => JSON.parse(line))
    .find(
      ({ reason, target }) => reason === 'compiler-artifact' && target.name === crate.replaceAll('-', '_'),
    )
  const library = artifact?.filenames.find((name) => /\.(so|dylib|dll)$/.test(name))
  if (library === undefined) throw new Error('twindex: cargo build made no library')
  return library
}

share(join(folder, 'lib/shared'))
console.error('twindex: building the native module with cargo (a minute or two the first time)')
const library = cargoBuild()
// In one step, because a process may have the old one mapped.
const built = join(folder, file)
copyFileSync(library, `${built}.${process.pid}`)
renameSync(`${built}.${process.pid}`, built)
console.error(`twindex: built ${built}`)
