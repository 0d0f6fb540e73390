// Builds the native module with cargo and puts it beside index.js.
import { spawnSync } from 'node:child_process'
import { copyFileSync, renameSync } from 'node:fs'
import { share } from '../../js/share.js'
import { built, root, shared } from './platform.js'

/** The file that cargo made, wherever its target folder is. */
function cargoBuild() {
  const flags = [
    'build',
    '--release',
    '--package',
    'twindex-node',
    '--message-format',
    'json-render-diagnostics',
  ]
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
  const messages = cargo.stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
  const artifact = messages.find(
    ({ reason, target }) => reason === 'compiler-artifact' && target.name === 'twindex_node',
  )
  const library = artifact?.filenames.find((file) => /\.(so|dylib|dll)$/.test(file))
  if (library === undefined) throw new Error('twindex: cargo build made no library')
  return library
}

share(shared)
console.error('twindex: building the native module with cargo (a minute or two the first time)')
const library = cargoBuild()
// In one step, because a process may have the old one mapped.
const beside = `${built}.${process.pid}`
copyFileSync(library, beside)
renameSync(beside, built)
console.error(`twindex: built ${built}`)
