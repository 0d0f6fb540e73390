// The tool as a WASI module: what it writes there, and reads of what was written elsewhere. Run by `cargo xtask test
// cli`, with the module's path in TWINDEX_WASI.

import assert from 'node:assert/strict'
import { closeSync, copyFileSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { WASI } from 'node:wasi'

const module = new WebAssembly.Module(readFileSync(process.env.TWINDEX_WASI))
const golden = new URL('../../conformance/golden/', import.meta.url)

// A folder that is the module's whole file system, and a function that runs the tool there.
function sandbox(context) {
  const folder = mkdtempSync(join(tmpdir(), 'twindex-wasi-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const run = (...args) => {
    const [stdout, stderr] = ['stdout', 'stderr'].map((name) => openSync(join(folder, name), 'w+'))
    const wasi = new WASI({
      version: 'preview1',
      args: ['twindex', ...args],
      preopens: { '/': folder },
      stdout,
      stderr,
      returnOnExit: true,
    })
    const code = wasi.start(new WebAssembly.Instance(module, wasi.getImportObject()))
    for (const file of [stdout, stderr]) closeSync(file)
    const text = (name) => readFileSync(join(folder, name), 'utf8')
    return { code, out: text('stdout'), err: text('stderr') }
  }
  return { folder, run }
}

const lines = (count) => {
  const pairs = Array.from({ length: count }, (_, number) => {
    const key = String(number).padStart(6, '0')
    return `{"table":"t","key":"${key}","value":"${'v'.repeat(number % 100)}"}`
  })
  return `${['{"table":"t","index":"sorted","keys":"bytes","values":"str"}', ...pairs].join('\n')}\n`
}

test('what is imported is exported, also once it is compacted', (context) => {
  const { folder, run } = sandbox(context)
  writeFileSync(join(folder, 'in'), lines(20_000))
  for (const args of [
    ['import', '/a.twx', '/in'],
    ['check', '/a.twx'],
    ['export', '/a.twx', '/logged'],
    ['compact', '/a.twx'],
    ['check', '/a.twx'],
    ['export', '/a.twx', '/dumped'],
  ]) {
    const { code, err } = run(...args)
    assert.equal(code, 0, `${args}: ${err}`)
  }
  for (const name of ['logged', 'dumped']) {
    assert.equal(readFileSync(join(folder, name), 'utf8'), lines(20_000), name)
  }
})

test('files of other systems are read', (context) => {
  const { folder, run } = sandbox(context)
  for (const [name, pairs] of [
    ['version-1-dump.twx', 1107],
    ['version-1-log.twx', 1147],
  ]) {
    copyFileSync(new URL(name, golden), join(folder, name))
    assert.equal(run('check', `/${name}`).code, 0, name)
    const { out } = run('export', `/${name}`)
    const found = out.split('\n').filter((line) => /"key(64)?":/.test(line))
    assert.equal(found.length, pairs, name)
  }
})

test('damage is found, and the rest is saved', (context) => {
  const { folder, run } = sandbox(context)
  const bytes = readFileSync(new URL('version-1-log.twx', golden))
  bytes[2000] ^= 1
  writeFileSync(join(folder, 'bad.twx'), bytes)
  assert.equal(run('check', '/bad.twx').code, 3)
  assert.equal(run('recover', '/bad.twx', '/good.twx').code, 3)
  assert.equal(run('check', '/good.twx').code, 0)
  assert.equal(run('info', '/none.twx').code, 1)
})
