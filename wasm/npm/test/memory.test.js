// The module's memory: it grows under every view, it is given back, and it may end.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { load } from 'twindex-wasm'

const bytes = readFileSync(new URL('../twindex.wasm', import.meta.url))

/** A new instance, and the size of its memory. */
async function instance() {
  let memory
  const { instantiate } = WebAssembly
  WebAssembly.instantiate = async (module) => {
    const made = await instantiate.call(WebAssembly, module)
    memory = made.exports.memory
    return made
  }
  try {
    const { Store } = await load(bytes)
    return { Store, size: () => memory.buffer.byteLength }
  } finally {
    WebAssembly.instantiate = instantiate
  }
}

test('views, iterators and cursors survive a memory that grows', async () => {
  const { Store, size } = await instance()
  const table = new Store().table('t', { index: 'sorted', keys: 'view', values: 'view' })
  const text = new Store().table('t', { index: 'sorted' })
  const key = (number) => new Uint8Array([number >> 8, number])
  for (let number = 0; number < 100; number++) table.set(key(number), key(number))
  const found = table.select(key(7))
  const cursor = table.cursor()
  const pair = cursor.scanAscNext()
  const iterator = table.entries()
  iterator.next()
  const before = size()
  for (let number = 0; number < 40; number++) {
    const [was, big] = [size(), 'x'.repeat(1_000_000 + number)]
    text.set(`k${number}`, big)
    assert.equal(text.get(`k${number}`).length, big.length)
    assert.ok(size() >= was)
  }
  assert.ok(size() > before + 30e6)
  assert.deepEqual(found, key(7))
  assert.deepEqual(pair, [key(0), key(0)])
  assert.deepEqual(cursor.scanAscNext(), [key(1), key(1)])
  assert.equal([...iterator].length, 99)
  assert.deepEqual(table.selectMany([key(3), key(200)]), [key(3), undefined])
})

test('memory is used again', async () => {
  const { Store, size } = await instance()
  const sizes = []
  for (let round = 0; round < 6; round++) {
    const store = new Store()
    const table = store.table('t', { index: 'sorted' })
    table.insertMany(Array.from({ length: 20_000 }, (_, at) => [`key ${at}`, 'x'.repeat(50)]))
    assert.equal(Store.loadSync(store.dumpSync()).table('t', { index: 'sorted' }).size, 20_000)
    table.selectMany(Array.from({ length: 20_000 }, (_, at) => `key ${at}`))
    store.close()
    globalThis.gc()
    await setImmediate()
    sizes.push(size())
  }
  assert.ok(sizes.at(-1) <= sizes[1] * 1.5, `it grows: ${sizes}`)
})

test('what JavaScript forgets is closed', async () => {
  const { Store, size } = await instance()
  const value = 'x'.repeat(100_000)
  for (let round = 0; round < 200; round++) {
    const table = new Store().table('t', { index: round % 2 ? 'hash' : 'sorted' })
    for (let pair = 0; pair < 20; pair++) table.set(`k${pair}`, value)
    for (const _ of table) break
    table.values().next() // left as it is
    if (table.index === 'sorted') table.cursor().scanAscNext()
    if (round % 10 === 0) {
      globalThis.gc()
      await setImmediate()
    }
  }
  // Two megabytes each: 400 of them, were they kept.
  assert.ok(size() < 150e6, `${size()} bytes`)
})

/** A number of up to 35 bits as the binary format has it: its value and where it ends. */
function readNumber(at) {
  let value = 0
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++]
    value += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) return [value, at]
  }
}

/** The module, with a memory that has at most so many pages of 64 KiB. */
function withMost(pages) {
  const MEMORY = 5
  for (let section = 8; section < bytes.length; ) {
    const [size, start] = readNumber(section + 1)
    if (bytes[section] === MEMORY) {
      assert.deepEqual([...bytes.subarray(start, start + 2)], [1, 0], 'one memory without a most')
      const least = bytes.subarray(start + 2, start + size)
      const limits = [1, 1, ...least, (pages & 0x7f) | 0x80, pages >> 7]
      const patched = Buffer.from([MEMORY, limits.length, ...limits])
      return Buffer.concat([bytes.subarray(0, section), patched, bytes.subarray(start + size)])
    }
    section = start + size
  }
  return assert.fail('there is no memory')
}

test('a store of three gibibytes is read and written, at addresses past the half', async () => {
  const { Store, size } = await instance()
  const store = new Store()
  const table = store.table('t', { index: 'sorted', values: 'view' })
  const value = new Uint8Array(8 << 20)
  const numbered = (number) => value.fill(number, 0, 8).fill(number, -8)
  let count = 0
  for (; size() < 3 * 2 ** 30; count++) table.set(`k${count}`, numbered(count))
  const isWhole = (found, number) =>
    found.length === value.length && found[0] === number % 256 && found.at(-1) === number % 256
  for (const number of [0, count >> 1, count - 1]) assert.ok(isWhole(table.get(`k${number}`), number))
  // What goes in, what comes out and what scans it lie high now.
  assert.equal(table.replace(`k${count - 1}`, numbered(7)), true)
  const [[key, found]] = table.scan({ reverse: true, prefix: `k${count - 1}` })
  assert.equal(key, `k${count - 1}`)
  assert.ok(isWhole(found, 7))
  const others = store.table('others', { index: 'sorted' })
  others.insertMany(Array.from({ length: 5000 }, (_, at) => [`${at}`, `${-at}`]))
  assert.deepEqual(others.selectMany(['3', '4999', 'none']), ['-3', '-4999', undefined])
  assert.equal([...others].length, 5000)
  assert.deepEqual(others.cursor({ gt: '4998' }).scanAscNext(), ['4999', '-4999'])
  assert.throws(() => others.increment('none', 'x'), { code: 'TWINDEX_TYPE' })
  assert.throws(() => others.compareAndSwap('3', '-3', 'x'.repeat(2 ** 29 - 24)), {
    code: 'TWINDEX_MEMORY_LIMIT',
  })
  assert.equal(others.get('3'), '-3')
  store.close()
})

test('memory that ends is an error, and the store goes on', async () => {
  const { Store } = await load(withMost(512))
  const store = new Store()
  const table = store.table('t', { values: 'view' })
  const value = new Uint8Array(300_000).fill(7)
  const isRefused = { name: 'TwindexError', code: 'TWINDEX_MEMORY_LIMIT', message: /memory/ }
  let count = 0
  assert.throws(() => {
    for (; count < 1000; count++) table.set(`k${count}`, value)
  }, isRefused)
  assert.ok(count > 50)
  assert.equal(table.size, count)
  for (let number = 0; number < count; number++) assert.deepEqual(table.get(`k${number}`), value)
  assert.throws(() => table.set('large', new Uint8Array(30_000_000)), isRefused)
  assert.throws(() => table.set('larger', new Uint8Array(2 ** 32)), { code: 'TWINDEX_MEMORY_LIMIT' })
  assert.throws(() => table.selectMany(Array(100).fill('k0')), isRefused)
  for (let number = 0; number < count / 2; number++) assert.ok(table.delete(`k${number}`))
  table.set('k', value)
  assert.deepEqual(table.get('k'), value)
})
