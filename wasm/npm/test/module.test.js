// How the module is loaded, and what an instance is to another.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { load, TwindexError } from 'twindex-wasm'

const url = new URL('../twindex.wasm', import.meta.url)
const bytes = readFileSync(url)
const isWasm = { headers: { 'content-type': 'application/wasm' } }

test('without an argument it is the same instance every time', async () => {
  const [one, other] = await Promise.all([load(), load()])
  assert.equal(one, other)
  assert.equal(one.TwindexError, TwindexError)
})

const SOURCES = {
  'an URL': url,
  'the text of an URL': url.href,
  bytes,
  'an array buffer': new Uint8Array(bytes).buffer,
  'a compiled module': await WebAssembly.compile(bytes),
  'a response': new Response(bytes, isWasm),
  'a response of an unknown type': new Response(bytes),
  'the promise of a response': Promise.resolve(new Response(bytes, isWasm)),
  'a data URL': `data:application/wasm;base64,${bytes.toString('base64')}`,
}

for (const [name, source] of Object.entries(SOURCES)) {
  test(`a new instance from ${name}`, async () => {
    const { Store } = await load(source)
    assert.notEqual(Store, (await load()).Store)
    const table = new Store().table('t').set('a', 'b')
    assert.equal(table.get('a'), 'b')
  })
}

test('what is no module of ours is refused', async () => {
  await assert.rejects(load(new Uint8Array([1, 2, 3])), WebAssembly.CompileError)
  await assert.rejects(load(new Response('no', { status: 404 })), /404/)
  await assert.rejects(load(new Response('<!doctype html>')), {
    message: /no WebAssembly module/,
  })
  await assert.rejects(load(new URL('none.wasm', url)), { code: 'ENOENT' })
  const empty = new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]))
  await assert.rejects(load(empty), /no module of Twindex/)
})

test('instances share nothing', async () => {
  const [one, other] = [await load(bytes), await load(bytes)]
  const [a, b] = [one, other].map(({ Store }) => new Store().table('t'))
  a.set('k', 'one')
  b.set('k', 'other')
  a.store.close()
  assert.throws(() => a.get('k'), { code: 'TWINDEX_CLOSED' })
  assert.equal(b.get('k'), 'other')
})

test('the module needs nothing of its host', () => {
  assert.deepEqual(WebAssembly.Module.imports(new WebAssembly.Module(bytes)), [])
})
