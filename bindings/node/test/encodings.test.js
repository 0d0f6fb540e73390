// How keys and values are seen.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DELETE, KEEP, Store } from 'twindex'

const store = new Store()
let count = 0
const open = (options) => store.table(`t${count++}`, options)
const name = (at) => `k${String(at).padStart(4, '0')}`

const LONG = ['x'.repeat(4095), 'x'.repeat(4096), '€'.repeat(5000)]
const TEXTS = ['', 'a', '\0', 'ä', 'ÿĀ', '€', '𝒳', 'naïve 😀 text', ...LONG]

test('any well-formed string comes back, on every way out', () => {
  const table = open({ index: 'sorted' })
  for (const text of TEXTS) assert.ok(table.insert(text, text))
  for (const text of TEXTS) assert.equal(table.select(text), text)
  assert.deepEqual(table.selectMany(TEXTS), TEXTS)
  const sorted = TEXTS.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const inOrder = sorted.map((text) => [text, text])
  assert.deepEqual([...table], inOrder)
  assert.deepEqual([...table.scan({ reverse: true })], inOrder.toReversed())
  assert.deepEqual(table.cursor().scanAscNextMany(100), inOrder)
  const cursor = table.cursor()
  for (const pair of inOrder) assert.deepEqual(cursor.scanAscNext(), pair)
  assert.equal(cursor.scanAscNext(), undefined)
})

test('a lone surrogate is refused and not replaced', () => {
  const table = open({ index: 'sorted' })
  const isRefused = { name: 'TwindexError', code: 'TWINDEX_ENCODING', message: /lone surrogate/ }
  for (const bad of ['\ud800', 'a\udc00', '\ud83d x', `${'x'.repeat(9000)}\ud800`]) {
    for (const use of [
      () => table.insert(bad, ''),
      () => table.insert('a', bad),
      () => table.select(bad),
      () => table.upsertMany(new Map().set('a', 'b').set(bad, 'c')),
      () => table.scan({ gte: bad }),
      () => store.table(bad),
    ])
      assert.throws(use, isRefused)
  }
  assert.equal(table.size, 0)
  assert.ok(table.insert('\ufffd', '\ufffd'))
  assert.equal(table.select('\ufffd'), '\ufffd')
})

for (const encoding of ['bytes', 'view']) {
  const isOurs = (value) =>
    encoding === 'bytes' ? Buffer.isBuffer(value) : Object.getPrototypeOf(value) === Uint8Array.prototype

  test(`${encoding}: any view of bytes goes in, of any length`, () => {
    const table = open({ index: 'sorted', keys: encoding, values: encoding })
    for (const length of [0, 1, 63, 64, 65, 4095, 4096, 4097, 65535, 65536, 300_000]) {
      const value = new Uint8Array(length).map((_, at) => at * 7)
      const key = value.subarray(0, 65535)
      table.upsert(key, value)
      const found = table.select(key)
      assert.ok(isOurs(found))
      assert.ok(Buffer.compare(found, value) === 0)
    }
    for (const [key, value] of table) assert.ok(isOurs(key) && isOurs(value))
    const wide = new Uint16Array([1, 2, 3]).subarray(1)
    const shared = new Uint8Array(new SharedArrayBuffer(5000)).fill(9)
    for (const view of [wide, new DataView(wide.buffer, 2, 4), new Float64Array([1.5]), shared]) {
      table.upsert(view, view)
      const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength)
      assert.ok(Buffer.compare(table.select(view), bytes) === 0)
      assert.ok(Buffer.compare(table.selectMany([view])[0], bytes) === 0)
    }
  })

  test(`${encoding}: what comes out is a copy`, () => {
    const table = open({ index: 'sorted', keys: encoding, values: encoding })
    const key = Buffer.from('key')
    const value = Buffer.from('value')
    table.insert(key, value)
    value.fill(0)
    const ways = [
      () => [key, table.select(key)],
      () => [key, table.selectMany([key])[0]],
      () => [...table][0],
      () => table.cursor().scanAscNext(),
      () => table.cursor().scanDescNextMany(1)[0],
    ]
    for (const way of ways) {
      const [outKey, outValue] = way()
      assert.equal(Buffer.from(outValue).toString(), 'value')
      if (outKey !== key) outKey.fill(1)
      outValue.fill(1)
    }
    assert.deepEqual(table.select(key), table.select(key))
    assert.equal(Buffer.from(table.select(key)).toString(), 'value')
    assert.equal(table.size, 1)
  })
}

test('msgpack: every size of head comes back', () => {
  const table = open({ values: 'msgpack' })
  const lengths = [0, 15, 16, 31, 32, 255, 256, 65_535, 65_536]
  const powers = [5, 7, 8, 15, 16, 31, 32, 52].map((power) => 2 ** power)
  const values = [
    ...powers.flatMap((power) => [power - 1, power, -power, -power - 1]),
    ...[2n ** 53n, 2n ** 64n - 1n, -(2n ** 53n), -(2n ** 63n), -0, Infinity, Number.NaN],
    ...lengths.flatMap((length) => ['x'.repeat(length), Array(length).fill(1), new Uint8Array(length)]),
    ...lengths.map((length) => Object.fromEntries(Array.from({ length }, (_, at) => [`k${at}`, at]))),
  ]
  for (const [at, value] of values.entries()) table.set(`k${at}`, value)
  assert.deepStrictEqual(table.selectMany(values.map((_, at) => `k${at}`)), values)
})

for (const values of ['json', 'msgpack']) {
  test(`${values}: null is a value, undefined is none`, () => {
    const table = open({ values })
    assert.ok(table.compareAndSwap('k', undefined, null))
    assert.equal(table.get('k'), null)
    assert.equal(table.compareAndSwap('k', undefined, 1), false)
    assert.ok(table.compareAndSwap('k', null, { n: 1 }))
    assert.ok(table.alter('k', (value) => ({ n: value.n + 1 })))
    assert.equal(
      table.alter('k', (value) => ({ ...value })),
      false,
    )
    assert.deepEqual(table.get('k'), { n: 2 })
    assert.ok(table.alter('k', () => null))
    assert.equal(table.get('k'), null)
    assert.ok(table.alter('k', () => DELETE))
    assert.equal(table.size, 0)
  })
}

test('alter takes a value, DELETE or KEEP, and nothing else', () => {
  // A function that forgot to return something once deleted the pair.
  const isTold = { name: 'TypeError', code: 'TWINDEX_TYPE', message: /DELETE or KEEP, not (undefined|null)/ }
  const bytes = { bytes: Buffer.from('1'), view: new Uint8Array(1) }
  const codecs = { ...bytes, str: '1', int: 1, bigint: 1n, json: 1, msgpack: 1 }
  for (const [values, value] of Object.entries(codecs)) {
    const table = open({ values })
    const alter = (key, answer) => table.alter(key, () => answer)
    table.set('k', value)
    for (const key of ['k', 'none']) {
      assert.throws(() => alter(key, undefined), isTold)
      if (!['json', 'msgpack'].includes(values)) assert.throws(() => alter(key, null), isTold)
    }
    assert.deepEqual([alter('k', KEEP), alter('none', KEEP), alter('none', DELETE)], [false, false, false])
    assert.deepEqual([...table], [['k', value]])
    assert.ok(alter('k', DELETE))
    assert.ok(table.alter('k', (seen) => (seen === undefined ? value : KEEP)))
    assert.deepEqual([...table], [['k', value]])
  }
})

test('a table remembers its codecs, and `bigint` and `view` are other ways to see them', () => {
  const table = open({ keys: 'int', values: 'json' }).set(1, { a: null })
  const names = { keys: 'int', values: 'json' }
  for (const source of [store, Store.loadSync(store.dumpSync())]) {
    const again = (options) => source.table(table.name, options)
    assert.deepEqual([[...again()], again().codecs], [[[1, { a: null }]], names])
    assert.deepEqual([...again({ keys: 'bigint' })], [[1n, { a: null }]])
    const raw = again({ keys: 'bytes', values: 'view' })
    const bytes = [Buffer.from('8000000000000001', 'hex'), new TextEncoder().encode('{"a":null}')]
    assert.deepEqual([[...raw], raw.codecs], [[bytes], names])
    assert.throws(() => again({ values: 'str' }), { code: 'TWINDEX_WRONG_CODEC', message: /"json".*"str"/ })
    assert.throws(() => again({ keys: 'tuple' }), { code: 'TWINDEX_WRONG_CODEC', message: /"int".*"tuple"/ })
  }
  assert.deepEqual(open().codecs, { keys: 'str', values: 'str' })
  assert.deepEqual(open({ keys: 'view', values: 'bigint' }).codecs, { keys: 'bytes', values: 'int' })
})

test('a table is not created where that is not wanted', () => {
  const isTold = { name: 'TwindexError', code: 'TWINDEX_NO_TABLE', message: /"none"/ }
  const before = store.tables()
  assert.throws(() => store.table('none', { create: false }), isTold)
  assert.throws(() => store.table('none', { create: false, index: 'sorted', keys: 'int' }), isTold)
  assert.deepEqual(store.tables(), before)
  const { name: there } = open({ keys: 'int' })
  assert.deepEqual(store.table(there, { create: false }).codecs, { keys: 'int', values: 'str' })
  assert.throws(() => store.table(there, { create: 1 }), { code: 'TWINDEX_TYPE' })
})

test("a codec of the user's has a name, which the table remembers", () => {
  const date = {
    name: 'iso-date',
    encode: (day) => day.toISOString(),
    decode: (text) => new Date(text),
    format: 'str',
  }
  const table = open({ values: date })
  const day = new Date(Date.UTC(1815, 11, 10))
  table.set('ada', day)
  assert.deepEqual(table.codecs, { keys: 'str', values: 'iso-date' })
  assert.deepEqual(store.table(table.name, { values: date }).get('ada'), day)
  const isWrong = { name: 'TwindexError', code: 'TWINDEX_WRONG_CODEC', message: /"iso-date"/ }
  assert.throws(() => store.table(table.name), isWrong)
  assert.throws(() => store.table(table.name, { values: 'str' }), isWrong)
  assert.throws(() => store.table(table.name, { values: { ...date, name: 'other' } }), isWrong)
  assert.equal(store.table(table.name, { values: 'bytes' }).get('ada').toString(), day.toISOString())
  for (const name of ['json', 'bytes', 'view', 'pickle', 'str']) {
    assert.throws(() => open({ values: { ...date, name } }), {
      code: 'TWINDEX_RANGE',
      message: /must not have the name/,
    })
  }
  for (const name of [undefined, 1, null]) {
    assert.throws(() => open({ values: { ...date, name } }), { code: 'TWINDEX_TYPE', message: /name/ })
  }
  for (const name of ['', 'ä'.repeat(128)]) {
    assert.throws(() => open({ values: { ...date, name } }), { code: 'TWINDEX_CODEC_NAME' })
  }
})

test('integers count, as numbers and as bigints', () => {
  const table = open()
  assert.equal(table.increment('n'), 1)
  assert.equal(table.increment('n', -3), -2)
  assert.equal(table.increment('n', 10n), 8n)
  assert.equal(table.select('n'), '8')
  assert.equal(table.increment('big', 2n ** 63n - 1n), 2n ** 63n - 1n)
  assert.throws(() => table.increment('big'), { code: 'TWINDEX_OVERFLOW' })
  const amounts = [
    ['n', 1],
    ['m', -1n],
    ['n', 2n],
  ]
  assert.deepEqual(table.incrementMany(amounts), [9, -1n, 11n])
  assert.equal(table.increment('zero', -0), 0)
  for (const by of [1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', null, true, {}]) {
    assert.throws(() => table.increment('n', by), { name: 'TypeError', code: 'TWINDEX_TYPE' })
  }
  for (const by of [2 ** 53, -(2 ** 60), 2n ** 63n]) {
    assert.throws(() => table.increment('n', by), { name: 'RangeError', code: 'TWINDEX_RANGE' })
  }
  assert.equal(table.select('n'), '11')
})

test('code of a value, an iterable or an option may use the store', () => {
  const table = open({ index: 'sorted', keys: 'bytes', values: 'json' })
  const other = open({ keys: 'bytes', values: 'bytes' })
  let size = 10_000
  const meddle = () => {
    // Longer than all that was passed before.
    size += 50_000
    other.upsert(Buffer.from('other, with a longer key'), Buffer.alloc(size))
    assert.equal(other.has(Buffer.from('none')), false)
  }
  const value = {
    get said() {
      meddle()
      return 'it'
    },
  }
  function* pairs() {
    for (const each of [value, { said: 'it' }]) {
      yield [Buffer.from('many'), each]
      meddle()
    }
  }
  const [key, swapped, many] = ['key', 'swapped', 'many'].map((text) => Buffer.from(text))
  assert.ok(table.insert(key, value))
  assert.ok(table.replace(key, value))
  assert.ok(table.compareAndSwap(swapped, undefined, value))
  assert.ok(table.compareAndSwap(swapped, value, value))
  assert.deepEqual(table.insertMany(pairs()), [true, false])
  assert.ok(table.alter(key, () => [value]))
  const wanted = new Map([[key, [{ said: 'it' }]]]).set(swapped, { said: 'it' }).set(many, { said: 'it' })
  for (const [at, said] of wanted) assert.deepEqual(table.select(at), said)
  assert.deepEqual(table.selectMany(wanted.keys()), [...wanted.values()])
  const range = {
    get gte() {
      meddle()
      return many
    },
  }
  assert.deepEqual([...table.scan(range)].length, 2)
  assert.equal(table.size, wanted.size)
})

test('a buffer may be used again as soon as it was passed', () => {
  const table = open({ index: 'sorted', keys: 'bytes', values: 'bytes' })
  const key = Buffer.alloc(4)
  const numbers = Array.from({ length: 1000 }, (_, at) => at)
  function* keys() {
    for (const number of numbers) {
      key.writeUInt32BE(number)
      yield key
    }
  }
  function* pairs() {
    for (const each of keys()) yield [each, each]
  }
  assert.ok(table.insertMany(pairs()).every(Boolean))
  assert.deepEqual(
    Array.from(table, ([each, value]) => [each.readUInt32BE(), value.readUInt32BE()]),
    numbers.map((number) => [number, number]),
  )
  assert.deepEqual(
    table.selectMany(keys()).map((value) => value.readUInt32BE()),
    numbers,
  )
  key.writeUInt32BE(7)
  const took = table.alter(key, (value) => {
    key.fill(0xff)
    return value.fill(1)
  })
  assert.ok(took)
  assert.equal(table.size, numbers.length)
  assert.equal(table.select(Buffer.from([0, 0, 0, 7])).readUInt32BE(), 0x01010101)
})

test("a codec's code may use the store in the middle of what is read", () => {
  // What such code looked up once stood in the place of the values that were still to be read.
  const bytes = (text) => new TextEncoder().encode(text)
  const plain = (item) => (typeof item === 'string' ? item : new TextDecoder().decode(item))
  const words = open({ index: 'sorted', keys: 'view', values: 'view' })
  words.insertMany(Array.from({ length: 9 }, (_, at) => [bytes(`w${at}`), bytes(`another ${at}`)]))
  const lookUp = (seen) => {
    words.selectMany([bytes('w1'), bytes('w2'), bytes('none')])
    words.select(bytes('w3'))
    words.cursor().scanDescNext()
    return seen
  }
  const pairs = Array.from({ length: 600 }, (_, at) => [name(at), `value ${at}`.repeat(at % 7 ? 1 : at)])
  for (const format of ['str', 'view', 'bytes']) {
    const raw = format === 'str' ? (text) => text : bytes
    const encode = (text) => raw(lookUp(text))
    const codec = { name: `look up ${format}`, encode, decode: (seen) => plain(lookUp(seen)), format }
    for (const [keys, values] of [
      [codec, codec],
      [codec, format],
      [format, codec],
    ]) {
      const shown = (pair) => pair.map(plain)
      const own = ([key, value]) => [keys === codec ? key : raw(key), values === codec ? value : raw(value)]
      const table = open({ index: 'sorted', keys, values })
      const given = pairs.map(own)
      assert.ok(table.insertMany(given).every(Boolean))
      const found = table.selectMany(given.map(([key]) => key))
      assert.deepEqual(
        found.map(plain),
        Array.from(pairs, ([, value]) => value),
      )
      const cursor = table.cursor()
      for (const pair of pairs) assert.deepEqual(shown(cursor.scanAscNext()), pair)
      assert.deepEqual(shown(cursor.scanDescNext()), pairs.at(-2))
      assert.deepEqual(table.cursor().scanAscNextMany(600).map(shown), pairs)
      assert.deepEqual([...table].map(shown), pairs)
    }
  }
})

test('a codec may encode everything into one buffer', () => {
  // A value was once written as the key that was encoded after it.
  const scratch = new Uint8Array(2)
  const codec = {
    name: 'two bytes',
    encode(number) {
      scratch.fill(number)
      return scratch
    },
    decode: (bytes) => bytes[1],
  }
  const table = open({ index: 'sorted', keys: codec, values: codec })
  assert.ok(table.insert(1, 2))
  assert.ok(table.replace(1, 3))
  assert.ok(table.upsert(4, 5))
  assert.ok(table.compareAndSwap(4, 5, 6))
  assert.ok(table.alter(4, (value) => value + 1))
  assert.deepEqual(table.insertMany(new Map().set(8, 9).set(10, 11)), [true, true])
  assert.deepEqual(table.compareAndSwapMany([[8, 9, 12]]), [true])
  assert.deepEqual(table.selectMany([10, 8, 1]), [11, 12, 3])
  const pairs = [...new Map().set(1, 3).set(4, 7).set(8, 12).set(10, 11)]
  assert.deepEqual([...table], pairs)
  assert.deepEqual([...table.scan({ gte: 4, lt: 10 })], pairs.slice(1, 3))
  assert.deepEqual(table.deleteMany([4, 8]), [true, true])
  assert.deepEqual([...table.keys()], [1, 10])
})

/** Arrays that are not what they say. `{ said, is }`: what is to be taken for the bytes, and the array. */
function liars(bytes) {
  const lie = (array, properties) => {
    for (const [name, value] of Object.entries(properties)) Object.defineProperty(array, name, { value })
    return array
  }
  class Larger extends Uint8Array {
    get length() {
      return super.length + 100_000
    }
    get byteLength() {
      return 1
    }
    get buffer() {
      return new ArrayBuffer(1)
    }
  }
  const view = () => new DataView(Uint8Array.from(bytes).buffer)
  return [
    Larger.from(bytes),
    lie(Uint8Array.from(bytes), { length: 1 }),
    lie(Uint8Array.from(bytes), { length: 5000 }),
    lie(Uint8Array.from(bytes), { length: -3, buffer: new SharedArrayBuffer(1), byteLength: 2 ** 20 }),
    lie(new Uint8Array(new SharedArrayBuffer(bytes.length)), { buffer: new ArrayBuffer(1) }).fill(bytes[0]),
    lie(view(), { byteLength: 2 ** 20, byteOffset: 7, buffer: new ArrayBuffer(1) }),
    Object.setPrototypeOf(Uint8Array.from(bytes), null),
  ]
}

test('an array that says it is longer or shorter than it is passes the bytes it has', () => {
  // It once passed what had been in our own memory before, of the length that it said.
  for (const length of [4, 5000]) {
    const bytes = Buffer.alloc(length, 7)
    for (const [at, liar] of liars(bytes).entries()) {
      for (const codec of ['bytes', 'view']) {
        const table = open({ keys: codec, values: codec })
        assert.ok(table.insert(liar, liar), `${at}`)
        assert.deepEqual(
          [...table].map((pair) => pair.map((half) => Buffer.from(half))),
          [[bytes, bytes]],
        )
        assert.deepEqual(table.upsertMany([[liar, liar]]), [true])
        assert.deepEqual(Buffer.from(table.selectMany([liar])[0]), bytes)
        assert.ok(table.compareAndSwap(liar, liar, undefined))
        assert.equal(table.size, 0)
      }
      const tuples = open({ index: 'sorted', keys: 'tuple' })
      tuples.insert([liar], 'said')
      assert.deepEqual(
        [...tuples.keys()].map(([item]) => Buffer.from(item)),
        [bytes],
      )
    }
  }
})

test('what only looks like an array of bytes is refused', () => {
  const table = open({ keys: 'bytes', values: 'bytes' })
  const fakes = [
    Object.create(Uint8Array.prototype),
    Object.setPrototypeOf([1, 2, 3], Uint8Array.prototype),
    Object.setPrototypeOf({ length: 4 }, Buffer.prototype),
    new Proxy(Buffer.from('a'), {}),
  ]
  for (const fake of fakes) {
    for (const call of [
      () => table.insert(fake, Buffer.from('a')),
      () => table.insert(Buffer.from('a'), fake),
      () => table.selectMany([fake]),
      () => Store.loadSync(fake),
    ]) {
      assert.throws(call, { code: 'TWINDEX_TYPE', name: 'TypeError' })
    }
  }
  assert.equal(table.size, 0)
})
