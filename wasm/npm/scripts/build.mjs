// Builds the core module and lays it beside the package's JavaScript, as twindex.wasm.
//
//   node wasm/npm/scripts/build.mjs

import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { optimise } from './optimise.mjs'

const TARGET = 'wasm32-unknown-unknown'
const destination = fileURLToPath(new URL('../twindex.wasm', import.meta.url))
const manifest = fileURLToPath(new URL('../../Cargo.toml', import.meta.url))

// The names of functions are kept for `optimise`, which drops them.
const profile = { 'opt-level': '"s"', strip: '"debuginfo"' }
const cargo = spawnSync(
  'cargo',
  [
    'build',
    '--release',
    ...['--manifest-path', manifest],
    ...['--target', TARGET],
    ...['--message-format', 'json-render-diagnostics'],
    ...Object.entries(profile).flatMap(([key, value]) => ['--config', `profile.release.${key}=${value}`]),
    // A call costs a module little more than a byte or two, and an inlined body all of its own.
    ...['--config', `target.${TARGET}.rustflags=["-Cllvm-args=-inline-threshold=25"]`],
  ],
  { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 2 ** 28 },
)
if (cargo.error) throw cargo.error
if (cargo.status !== 0) {
  console.error(`The build failed. Where the target is missing: rustup target add ${TARGET}`)
  process.exit(1)
}

const artifact = cargo.stdout
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
  .filter((message) => message.reason === 'compiler-artifact' && message.target.name === 'twindex_wasm')
  .flatMap((message) => message.filenames)
  .find((name) => name.endsWith('.wasm'))
const bytes = optimise(readFileSync(artifact))
writeFileSync(destination, bytes)
console.log(`${destination}: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} gzipped`)
