// Builds the core module and lays it beside the package's JavaScript, as twindex.wasm.
//
//   node wasm/npm/scripts/build.mjs [--simd]
//
// With --simd it is twindex.simd.wasm, whose hash index compares the tags of a bucket in one instruction. The package does not
// ship that: in wasmtime a look-up among a million pairs took 371 and 400 ns in it, 396 and 363 without.

import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { optimise } from './optimise.mjs'

const TARGET = 'wasm32-unknown-unknown'
const isSimd = process.argv.includes('--simd')
const name = isSimd ? 'twindex.simd.wasm' : 'twindex.wasm'
const destination = fileURLToPath(new URL(`../${name}`, import.meta.url))
const manifest = fileURLToPath(new URL('../../Cargo.toml', import.meta.url))

const { stdout: sysroot } = spawnSync('rustc', ['--print', 'sysroot'], { encoding: 'utf8' })
const rustflags = [
  // A call costs a module little more than a byte or two, and an inlined body all of its own.
  '-Cllvm-args=-inline-threshold=25',
  ...(isSimd ? ['-Ctarget-feature=+simd128'] : []),
  // The same bytes wherever the toolchain is.
  `--remap-path-prefix=${sysroot.trim()}/lib/rustlib/src/rust/library=std`,
]

// Among a million pairs in wasmtime, in blocks of 10,000, an insert takes 500 ns hashed and 790 sorted, a look-up 380 and 600, a scan 180
// a pair; at opt-level 3, in 75 KB, it is 420, 660, 320, 520 and 65.
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
    ...['--config', `target.${TARGET}.rustflags=${JSON.stringify(rustflags)}`],
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
