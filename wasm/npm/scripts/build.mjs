// Builds the core module and lays it beside the package's JavaScript, four times:
//
//   node wasm/npm/scripts/build.mjs                 # or some: ... build.mjs twindex.wasm
//
// twindex.wasm is small, has tables and snapshots alone, and any runtime can have it. twindex.caches.wasm has transactions, tables whose
// pairs expire, watches and caches. twindex.files.wasm keeps a store in a file in place of caches, and checks and recovers files. twindex.fast.wasm is twindex.caches.wasm built for speed: it
// compares the tags of a bucket in one instruction of 128 bits.

import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { share } from '../../../bindings/js/share.js'
import { optimise } from './optimise.mjs'

share(fileURLToPath(new URL('../src/shared', import.meta.url)))

const TARGET = 'wasm32-unknown-unknown'
const manifest = fileURLToPath(new URL('../../Cargo.toml', import.meta.url))
const { stdout: sysroot } = spawnSync('rustc', ['--print', 'sysroot'], { encoding: 'utf8' })

const SMALL = {
  level: '"s"',
  // A call costs a module little more than a byte or two, and an inlined body all of its own.
  flags: ['-Cllvm-args=-inline-threshold=5'],
}

const features = (names) => ['--no-default-features', '--features', names]

const MODULES = {
  'twindex.wasm': { ...SMALL, features: features('') },
  'twindex.caches.wasm': { ...SMALL, features: features('caches,transactions') },
  'twindex.files.wasm': { ...SMALL, features: features('files,transactions') },
  'twindex.fast.wasm': {
    level: '3',
    // Vectors only where the engine asks for them: what the compiler makes of its loops was half as fast in Node.
    flags: ['-Ctarget-feature=+simd128', '-Cno-vectorize-loops', '-Cno-vectorize-slp'],
    features: features('caches,transactions'),
  },
}

const wanted = process.argv.slice(2)
for (const [name, module] of Object.entries(MODULES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const destination = fileURLToPath(new URL(`../${name}`, import.meta.url))
  const bytes = optimise(readFileSync(compile(module)), module.level === '3')
  writeFileSync(destination, bytes)
  console.log(`${destination}: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} gzipped`)
}

/** Where the compiler laid the module. */
function compile({ level, flags, features }) {
  const rustflags = [
    ...flags,
    // The same bytes wherever the toolchain is.
    `--remap-path-prefix=${sysroot.trim()}/lib/rustlib/src/rust/library=std`,
  ]
  // The names of functions are kept for `optimise`, which drops them.
  const profile = { 'opt-level': level, strip: '"debuginfo"' }
  const cargo = spawnSync(
    'cargo',
    [
      'build',
      '--release',
      ...['--manifest-path', manifest],
      ...['--target', TARGET],
      ...features,
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
  return cargo.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter((message) => message.reason === 'compiler-artifact' && message.target.name === 'twindex_wasm')
    .flatMap((message) => message.filenames)
    .find((name) => name.endsWith('.wasm'))
}
