// The vectors of the codecs, which Python's tests run too; and that the order of keys is that of what they stand for.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { Cache, Store } from 'twindex'
import { ownBytes } from '../../js/views.js'

const { cases, refused, decided, packed } = JSON.parse(
  readFileSync(new URL('../../../conformance/codecs.json', import.meta.url), 'utf8'),
)

/** What a vector says. A float without a fraction is one that JavaScript takes for an integer, where it is a safe one. */
function read(value) {
  if (Array.isArray(value)) return value.map(read)
  if (value?.hex !== undefined) return new Uint8Array(Buffer.from(value.hex, 'hex'))
  if (value?.view !== undefined) return new DataView(new Uint8Array(Buffer.from(value.view, 'hex')).buffer)
  if (value?.utf16 !== undefined) return String.fromCharCode(Number.parseInt(value.utf16, 16))
  if (value?.detached) {
    const gone = new Uint8Array(1)
    structuredClone(gone.buffer, { transfer: [gone.buffer] })
    return gone
  }
  if (value?.int !== undefined) return BigInt(value.int)
  if (value?.float !== undefined) return Number(value.float.replace('inf', 'Infinity'))
  return value
}

const isWholeFloat = (value) =>
  Array.isArray(value) && value.some((each) => Number.isSafeInteger(Number(each?.float)))

/** The codecs that see such a value. */
function codecsOf({ codec, value }) {
  if (codec !== 'int') return { [codec]: read(value) }
  return { bigint: BigInt(read(value)), ...(typeof value === 'number' && { int: value }) }
}

/** A table with a codec in one column, and the same as bytes. */
function open(column, codec) {
  const store = new Store()
  const other = column === 'key' ? 'values' : 'keys'
  const table = store.table('t', { [other]: 'bytes', [`${column}s`]: codec })
  return { store, table, bytes: store.table('t', { keys: 'bytes', values: 'bytes' }) }
}

const NONE = Buffer.alloc(0)

for (const each of cases) {
  const { codec, column, value, hex } = each
  test(`${column} ${codec} ${JSON.stringify(value)}`, () => {
    for (const [name, seen] of Object.entries(codecsOf(each))) {
      const { table, bytes } = open(column, name)
      const stored = Buffer.from(hex, 'hex')
      const pair = (half) => (column === 'key' ? [half, NONE] : [NONE, half])
      bytes.set(...pair(stored))
      assert.deepEqual([...table], [pair(seen)])
      if (isWholeFloat(value)) continue
      bytes.clear()
      table.set(...pair(seen))
      assert.deepEqual([...bytes], [pair(stored)])
    }
  })
}

for (const { codec, column, hex } of refused) {
  // Bytes were read as a tuple that has other bytes, so that a key that a scan had shown was not found.
  test(`no ${column} ${codec} is ${hex}`, () => {
    const { table, bytes } = open(column, codec)
    const stored = Buffer.from(hex, 'hex')
    if (column === 'key') bytes.set(stored, NONE)
    else bytes.set(NONE, stored)
    const code = codec === 'int' && column === 'value' ? 'TWINDEX_NOT_AN_INTEGER' : 'TWINDEX_ENCODING'
    assert.throws(() => [...table], { code })
  })
}

/** What a case does, by the codec of one column. */
function does({ codec, column, ...rest }) {
  const { table, bytes } = open(column, codec)
  const pair = (half) => (column === 'key' ? [half, NONE] : [NONE, half])
  const half = ([[key, value]]) => (column === 'key' ? key : value)
  if (rest.read !== undefined) {
    bytes.set(...pair(Buffer.from(rest.read, 'hex')))
    return half([...table])
  }
  table.set(...pair(read(rest.write)))
  return half([...bytes]).toString('hex')
}

for (const { name, gives, ...rest } of decided) {
  // JavaScript has one number for 5 and 5.0.
  if (rest.write !== undefined && isWholeFloat(rest.write)) continue
  test(name, () => {
    const code = gives.code ?? gives.otherwise
    if (code === undefined) assert.deepEqual(does(rest), gives.hex ?? read(gives.value))
    else assert.throws(() => does(rest), { code, ...(gives.message && { message: gives.message }) })
  })
}

test('msgpack is as the specification has it', () => {
  const { table, bytes } = open('value', 'msgpack')
  for (const [value, hex] of packed.written) {
    table.set(NONE, read(value))
    assert.equal(bytes.get(NONE).toString('hex'), hex)
  }
  for (const [hex, value] of packed.read) {
    bytes.set(NONE, Buffer.from(hex, 'hex'))
    assert.deepStrictEqual(table.get(NONE), read(value), hex)
  }
  for (const hex of packed.refused) {
    bytes.set(NONE, Buffer.from(hex, 'hex'))
    assert.throws(() => table.get(NONE), { name: 'TwindexError', code: 'TWINDEX_ENCODING' }, hex)
  }
})

test('zero has no sign as an integer', () => {
  const { table, bytes } = open('value', 'int')
  for (const text of ['-0', '+0', '000']) {
    bytes.set(NONE, Buffer.from(text))
    assert.ok(Object.is(table.get(NONE), 0), text)
  }
  // It would be read as 0. Keys compare as numbers.
  assert.throws(() => table.set(NONE, -0), { code: 'TWINDEX_ENCODING', message: /-0: pass 0/ })
  for (const keys of ['int', 'tuple']) {
    const numbers = new Store().table('t', { keys })
    const key = (number) => (keys === 'int' ? number : [number])
    numbers.set(key(-0), 'a')
    assert.equal(numbers.get(key(0)), 'a')
  }
})

test('an integer past the safe ones is read as a bigint', () => {
  const store = new Store()
  store.table('t', { keys: 'bigint', values: 'bigint' }).set(2n ** 53n, 2n ** 53n)
  const isTold = { code: 'TWINDEX_ENCODING', message: /9007199254740992.*"bigint"/ }
  assert.throws(() => [...store.table('t', { keys: 'int', values: 'view' })], isTold)
  assert.throws(() => [...store.table('t', { keys: 'view', values: 'int' })], isTold)
  assert.throws(() => store.table('t', { keys: 'int' }).get(2 ** 53), { code: 'TWINDEX_RANGE' })
  for (const wrong of [1.5, '1', 1n, null, Number.NaN]) {
    assert.throws(() => store.table('t', { keys: 'int' }).get(wrong), { code: 'TWINDEX_TYPE' })
  }
  for (const wrong of [2n ** 63n, -(2n ** 63n) - 1n]) {
    assert.throws(() => store.table('t', { keys: 'bigint' }).get(wrong), { code: 'TWINDEX_RANGE' })
    assert.throws(() => store.table('tuples', { keys: 'tuple' }).get([wrong]), { code: 'TWINDEX_RANGE' })
  }
  assert.throws(() => store.table('s', { index: 'sorted', keys: 'int' }).scan({ prefix: 1 }), {
    code: 'TWINDEX_RANGE',
  })
})

test('long strings come back in JSON, beside what has to be looked at closely', () => {
  const table = new Store().table('t', { values: 'json' })
  // As a file in base64 is, with a number that may have been rounded, and a path that begins as half of a character does.
  for (const string of ['1e'.repeat(1 << 22), '\\"'.repeat(1 << 22)]) {
    const value = { string, path: 'C:\\udata', number: 1234567890123456 }
    table.set('k', value)
    const read = table.get('k')
    // A message with both would be long.
    assert.ok(read.string === string && read.path === value.path && read.number === value.number)
  }
  const text = table.store.table('t', { values: 'view' })
  for (const wrong of [
    '["a\\\\", 12345678901234567]',
    '["\\\\\\"1234567890123456", "\\ud800"]',
    '["\\"", 1e999]',
  ]) {
    text.set('k', Buffer.from(wrong))
    assert.throws(() => table.get('k'), { code: 'TWINDEX_ENCODING' })
  }
})

test('bytes whose text is a number are bytes', () => {
  const table = new Store().table('t', { keys: 'view', values: 'bytes' })
  const number = Buffer.from('12'.padStart(5000))
  table.set(number, number)
  assert.deepEqual([...table], [[new Uint8Array(number), number]])
  assert.ok(table.compareAndSwap(number, number, Buffer.from('3')))
})

test('a tuple is at most 64 deep', () => {
  const deep = (depth) => (depth === 0 ? [] : [deep(depth - 1)])
  const tuples = new Store().table('t', { keys: 'tuple' })
  tuples.has(deep(64))
  assert.throws(() => tuples.has(deep(65)), { code: 'TWINDEX_ENCODING' })
})

test('a view whose memory is gone, or shrunk, is refused', () => {
  // It was stored as nothing at all.
  const store = new Store()
  const isTold = { name: 'TypeError', code: 'TWINDEX_TYPE', message: /are gone/ }
  const one = new Uint8Array([1])
  const [table, pack, tuples] = [
    store.table('t', { keys: 'bytes', values: 'view' }),
    store.table('packs', { values: 'msgpack' }),
    store.table('tuples', { keys: 'tuple' }),
  ]
  for (const View of [Uint8Array, Int32Array, DataView]) {
    const shrunk = new ArrayBuffer(16, { maxByteLength: 16 })
    const outside = new View(shrunk, 8)
    shrunk.resize(4)
    const detached = new View(new ArrayBuffer(8))
    structuredClone(detached.buffer, { transfer: [detached.buffer] })
    for (const gone of [outside, detached])
      for (const use of [
        () => table.set(gone, one),
        () => table.set(one, gone),
        () => table.selectMany([gone]),
        () => tuples.has([gone]),
        ...(View === Uint8Array ? [() => pack.set('a', { gone })] : []),
      ])
        assert.throws(use, isTold)
  }
  assert.equal(table.size, 0)
  table.set(one, new Uint8Array(0)).set(new DataView(new ArrayBuffer(0)), one)
  assert.equal(table.size, 2)
})

/** Where a kind of item comes in the order. */
function kind(item) {
  if (item === null) return 0
  if (item instanceof Uint8Array) return 1
  if (typeof item === 'string') return 2
  return Array.isArray(item) ? 3 : 4
}

/** The order that tuples promise. */
function compare(one, other) {
  for (let at = 0; at < Math.min(one.length, other.length); at++) {
    const [a, b] = [one[at], other[at]]
    if (kind(a) !== kind(b)) return kind(a) - kind(b)
    if (kind(a) === 3) {
      const nested = compare(a, b)
      if (nested !== 0) return nested
    } else if (kind(a) === 1 || kind(a) === 2) {
      const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b))
      if (bytes !== 0) return bytes
    } else if (a !== b) return a < b ? -1 : 1
  }
  return one.length - other.length
}

test('random tuples come in their order, and as they were', () => {
  const random = (count) => Math.floor(Math.random() * count)
  const numbers = [
    () => random(600) - 300,
    () => (Math.random() - 0.5) * 10 ** random(25),
    () => (random(2) ? 1n : -1n) * (2n ** 53n + BigInt(random(1e9))),
    () => [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0][random(3)],
  ]
  const make = [
    () => null,
    () => new Uint8Array(Array.from({ length: random(4) }, () => random(3) * 127)),
    () => ['', '\0', 'a', 'a\0', 'ä', '\ue000', '\u{10000}'][random(7)],
    (depth) => (depth > 2 ? [] : tuple(depth + 1)),
    () => numbers[random(numbers.length)](),
  ]
  const tuple = (depth) => Array.from({ length: random(4) }, () => make[random(make.length)](depth))
  const table = new Store().table('t', { index: 'sorted', keys: 'tuple' })
  const tuples = Array.from({ length: 3000 }, () => tuple(0))
  for (const each of tuples) table.set(each, '')
  const keys = [...table.keys()]
  for (const each of tuples) assert.ok(table.has(each))
  for (let at = 1; at < keys.length; at++) {
    assert.ok(compare(keys[at - 1], keys[at]) < 0, `${keys[at - 1]} before ${keys[at]}`)
  }
  for (const prefix of [['a'], [null], [1], [[]]]) {
    const found = [...table.scan({ prefix })].map(([key]) => key)
    const expected = keys.filter((key) => key.length > 0 && compare(key.slice(0, 1), prefix) === 0)
    assert.deepEqual(found, expected)
  }
})

/** Values of all kinds, most of which some codec does not take. */
function anything(random, depth = 0) {
  class Own {}
  const few = () => Array.from({ length: random(4) }, () => anything(random, depth + 1))
  const one = (...these) => these[random(these.length)]
  const names = ['a', '', '__proto__', 'é']
  const keys = [1, 'a', null, 2n ** 60n]
  const makers = [
    () => one(undefined, null, true, false),
    () => one(0, -0, 1, -1, 255, 2 ** 31, -(2 ** 33), 2 ** 53 - 1, 2 ** 53, 1.5, 1e300, Number.NaN, Infinity),
    () => one(0n, 5n, 2n ** 53n, -(2n ** 63n), 2n ** 64n - 1n, 2n ** 64n),
    () => one('', 'a', 'ä', '\u{10000}', '\ud800', '\0', 'x'.repeat(300)),
    () => new Uint8Array([1, 2, random(255)]),
    () => one(Buffer.from('b'), new Float64Array(1), new DataView(new ArrayBuffer(2)), new ArrayBuffer(1)),
    () => one(new Date(0), /x/, new Set([1]), new Error('no'), Promise.resolve(1), new Own(), Object(1)),
    () =>
      one(
        () => 1,
        Symbol('s'),
        Object.fromEntries([['then', () => {}]]),
        { toJSON: () => 1 },
        { [Symbol('s')]: 1 },
      ),
    () => (depth > 3 ? [] : few()),
    () => (depth > 3 ? {} : Object.fromEntries(few().map((value, at) => [names[at], value]))),
    () => (depth > 3 ? new Map() : new Map(few().map((value, at) => [keys[at], value]))),
    () => runInNewContext('({ a: [1, { b: null }] })'),
    () => Array(2),
    () => Object.assign(few(), { [random(2) === 0 ? 'x' : Symbol('x')]: 1 }),
  ]
  return makers[random(makers.length)]()
}

/** What a codec documents to be the same: a property that is `undefined` and none, a `Buffer` and its bytes, any realm's object. */
function plain(value) {
  if (value instanceof Uint8Array) return [...value]
  if (Array.isArray(value)) return Array.from(value, plain)
  if (Object.prototype.toString.call(value) === '[object Map]')
    return new Map([...value].map((pair) => pair.map(plain)))
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).filter(([, each]) => each !== undefined)
  return Object.fromEntries(entries.map(([name, each]) => [name, plain(each)]))
}

test('every codec reads back what it takes, and refuses the rest by a typed error', () => {
  const store = new Store()
  const random = (count) => Math.floor(Math.random() * count)
  const inValues = ['str', 'int', 'bigint', 'json', 'msgpack', 'bytes', 'view'].map((values) => {
    return [values, store.table(values, { values }), new Cache({ max: 10, values })]
  })
  const inKeys = ['str', 'int', 'bigint', 'tuple', 'bytes', 'view'].map((keys) =>
    store.table(`k ${keys}`, { keys }),
  )
  const isTyped = ({ code }) => ['TWINDEX_TYPE', 'TWINDEX_RANGE', 'TWINDEX_ENCODING'].includes(code)
  let taken = 0
  const attempt = (write, read) => {
    try {
      write()
    } catch (error) {
      if (isTyped(error)) return
      throw error
    }
    taken++
    read()
  }
  for (let round = 0; round < 2000; round++) {
    const value = anything(random)
    for (const [values, table, cache] of inValues) {
      // Bytes are bytes, by whatever view.
      const isSame = (got) => {
        if (values === 'bytes' || values === 'view') assert.equal(got.byteLength, value.byteLength)
        else assert.deepStrictEqual(plain(got), plain(value))
      }
      const readTable = () => isSame(table.get('k'))
      attempt(() => table.upsert('k', value), readTable)
      if (value === undefined) continue
      attempt(
        () => cache.set('k', value),
        () => isSame(cache.get('k')),
      )
      attempt(() => table.alter('k', () => value), readTable)
    }
    for (const table of inKeys) {
      const isThere = () => assert.ok(table.has(value))
      attempt(() => table.set(value, 'v'), isThere)
    }
  }
  assert.ok(taken > 5000)
})

test('a value that is refused is named by its class and its place', () => {
  const store = new Store()
  const json = store.table('json', { values: 'json' })
  const pack = store.table('pack', { values: 'msgpack' })
  const own = store.table('own', {
    values: { name: 'own', encode: JSON.stringify, decode: JSON.parse, format: 'str' },
  })
  const circle = { a: [] }
  circle.a.push(circle)
  for (const [table, value, message] of [
    [json, { user: { born: new Date(0) } }, /JSON can encode, not a Date at user\.born$/],
    [json, [1, { 'a b': -0 }], /JSON has no number -0 at \[1\]\["a b"\]$/],
    [json, Promise.resolve(1), /not a Promise \(await it first\)$/],
    [json, circle, /at a\[0\], which contains itself$/],
    [pack, { n: [5n] }, /pass a number instead of 5n at n\[0\]$/],
    [pack, { m: new Map([['a', 1]]) }, /pass an object instead of a Map at m$/],
    [pack, new Map([[1, new Set()]]), /not a Set at get\(1\)$/],
    [json, { m: '2026-11'.match(/(?<y>\d+)-/) }, /not an array with the property 'groups' at m$/],
    [pack, ['2026-11'.match(/-/)], /not an array with the property 'groups' at \[0\]$/],
    [pack, Object.assign([1], { [Symbol('s')]: 1 }), /not an array with the property Symbol\(s\)$/],
    [own, Promise.resolve(1), /a value must not have a method "then", as has a Promise \(await it first\)$/],
    // biome-ignore lint/suspicious/noThenProperty: as those of other libraries
    [own, { then() {} }, /as has an object \(await it first\)$/],
  ]) {
    assert.throws(() => table.set('k', value), message)
    assert.throws(() => table.insertMany([['k', value]]), message)
  }
  for (const table of [json, own]) {
    const isTold = { code: 'TWINDEX_TYPE', message: /await it first/ }
    assert.throws(() => table.alter('k', async () => 1), isTold)
    assert.throws(() => table.compareAndSwap('k', undefined, Promise.resolve(1)), isTold)
  }
  assert.equal(json.size + pack.size + own.size, 0)
})

test('memory that threads share is copied, whatever it says of itself', () => {
  const shared = new SharedArrayBuffer(5000)
  Object.defineProperty(shared, Symbol.toStringTag, { value: 'ArrayBuffer' })
  const view = new Uint8Array(shared)
  assert.notEqual(ownBytes(view).buffer, shared)
  const own = new Uint8Array(5000)
  assert.equal(ownBytes(own), own)
})
