// Builds the native module with cargo and puts it beside index.js, and what all packages share into lib/shared.
// `--dev` builds without optimising.
import { spawnSync } from 'node:child_process'
import { copyFileSync, renameSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { share } from '../../js/share.js'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))

share(at('../lib/shared'))

const flags = ['build', '--package', 'twindex-cluster-node', '--message-format', 'json-render-diagnostics']
if (!process.argv.includes('--dev')) flags.push('--release')
const cargo = spawnSync('cargo', flags, {
  cwd: at('../../..'),
  encoding: 'utf8',
  maxBuffer: 1 << 28,
  stdio: ['ignore', 'pipe', 'inherit'],
})
if (cargo.error) throw cargo.error
if (cargo.status !== 0) throw new Error(`cargo build failed (${cargo.signal ?? `exit ${cargo.status}`})`)
const artifact = cargo.stdout
  .split('\n')
  .filter((line) => line.startsWith('{'))
  .map((line) => JSON.parse(line))
  .find(({ reason, target }) => reason === 'compiler-artifact' && target.name === 'twindex_cluster_node')
const library = artifact?.filenames.find((file) => /\.(so|dylib|dll)$/.test(file))
if (library === undefined) throw new Error('cargo build made no library')
// In one step, because a process may have the old one mapped.
const built = at('../twindex-cluster.node')
copyFileSync(library, `${built}.${process.pid}`)
renameSync(`${built}.${process.pid}`, built)
