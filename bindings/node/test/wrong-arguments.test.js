// Random arguments of every type through every call: each takes effect or ends with a typed error, and what is in the
// store stays whole.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Batch, Cache, Cursor, check, open, openSync, recover, Store, Table, TwindexError } from 'twindex'

const ROUNDS = Number(process.env.TWINDEX_STRESS ?? 1) * 4000

const random = (count) => Math.floor(Math.random() * count)
const pick = (items) => items[random(items.length)]

const detached = new Uint8Array(4)
structuredClone(detached.buffer, { transfer: [detached.buffer] })
const revoked = Proxy.revocable([], {})
revoked.revoke()

const VALUES = [
  ...[
    undefined,
    null,
    true,
    0,
    -0,
    1,
    -1,
    1.5,
    2 ** 31,
    2 ** 32,
    2 ** 53,
    1e300,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ],
  ...['', 'a', 'key', '\ud800', 'ä€', '\0', 'x'.repeat(70_000), 'hash', 'sorted', 'str', 'tuple', 'none'],
  ...[0n, 1n, -(2n ** 63n), 2n ** 64n, Symbol('s'), Symbol.iterator],
  ...[
    Buffer.alloc(0),
    Buffer.from('key'),
    new Uint8Array(70_000),
    new DataView(new ArrayBuffer(3)),
    detached,
  ],
  ...[new Uint8Array(new SharedArrayBuffer(8)), new Float64Array(2), new ArrayBuffer(4)],
  ...[
    [],
    ['a'],
    ['a', 'b'],
    [['a', 'b']],
    [['a', 1]],
    [[Buffer.from('a'), Buffer.from('b')]],
    ['a', 'b', 'c'],
    [[[1]]],
  ],
  ...[[['a', undefined, 'b']], Array(3), new Set(['a']), new Map([['a', 'b']]), { length: 3 }, revoked.proxy],
  ...[
    {},
    { toString: () => 'key' },
    { toJSON: () => undefined },
    { gte: 'a' },
    { gt: 'a', gte: 'b' },
    { limit: -1 },
  ],
  ...[
    { prefix: 'a' },
    { reverse: 1 },
    { limit: 3 },
    { index: 'sorted' },
    { keys: 'int' },
    { values: {} },
    { signal: 1 },
  ],
  ...[
    () => 'a',
    () => undefined,
    () => ({}),
    new Date(),
    /a/,
    new Error('e'),
    Promise.resolve(),
    new WeakMap(),
  ],
  {
    get gte() {
      throw new RangeError('of the getter', { cause: 'ours' })
    },
  },
  {
    [Symbol.iterator]() {
      throw new RangeError('of the iterator', { cause: 'ours' })
    },
  },
]

/** An error that tells a program what was wrong, or the one that the argument itself threw. */
function assertTyped(error, call) {
  const isOurs = error?.cause === 'ours'
  // A proxy that was revoked, and the iterator of an array whose memory is gone.
  const isOfTheirs = error instanceof TypeError && /revoked|values on a detached/.test(error.message)
  if (isOurs || isOfTheirs) return
  assert.ok(error instanceof Error, `${call}: ${String(error)}`)
  assert.match(String(error.code), /^TWINDEX_/, `${call}: ${error.stack}`)
  assert.notEqual(error.code, 'TWINDEX_BUG', `${call}: ${error.stack}`)
  const Class = { TWINDEX_TYPE: TypeError, TWINDEX_RANGE: RangeError }[error.code] ?? TwindexError
  assert.ok(error instanceof Class, `${call}: ${error.stack}`)
}

/** Every method, getters aside, of an object's class and of what it extends. */
function methodsOf({ prototype }) {
  const names = []
  for (let at = prototype; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof value === 'function' && name !== 'constructor') names.push(name)
    }
  }
  return names
}

/** Those that end the object, or wait for a disk, have tests of their own. */
const APART = new Set([
  ...['close', 'closeSync', 'save', 'saveSync', 'flush', 'compact', 'dump', 'refresh', 'follow'],
])

const ENCODINGS = {
  keys: ['str', 'bytes', 'view', 'int', 'bigint', 'tuple'],
  values: ['str', 'bytes', 'view', 'json', 'msgpack', 'int', 'bigint'],
}

test('every call takes any argument, or refuses it by a typed error', async () => {
  const store = new Store({ memoryLimit: 2 ** 26 })
  for (let round = 0; round < ROUNDS; round++) {
    const index = pick(['hash', 'sorted'])
    const options = { index, keys: pick(ENCODINGS.keys), values: pick(ENCODINGS.values) }
    // A table remembers its codecs, so each choice of them has its own.
    const table = store.table(`${index} ${JSON.stringify(options)}`, options)
    const targets = [store, table, table, table, store.batch()]
    if (index === 'sorted') targets.push(table.cursor())
    else
      targets.push(
        store.cache(`cache ${JSON.stringify(options)}`, {
          keys: options.keys,
          values: options.values,
          max: 100,
        }),
      )
    const target = pick(targets)
    const name = pick(methodsOf(target.constructor).filter((each) => !APART.has(each)))
    const call = `${target.constructor.name}.${name} of ${JSON.stringify(options)}`
    try {
      const result = target[name](...Array.from({ length: random(4) }, () => pick(VALUES)))
      if (result instanceof Promise) await result
      if (typeof result?.next === 'function') for (let step = 0; step < 3; step++) result.next()
    } catch (error) {
      assertTyped(error, call)
    }
    if (round % 500 === 0) {
      for (const kept of store.tables()) {
        const seen = store.table(kept[0], { index: kept[1], keys: 'bytes', values: 'bytes' })
        assert.equal([...seen].length, seen.size)
        if (!/^(hash|sorted) /.test(kept[0])) store.dropTable(kept[0])
      }
    }
  }
})

test('so do the functions and constructors', async () => {
  for (const value of VALUES) {
    for (const other of VALUES.slice(0, 40)) {
      for (const make of [
        () => new Store(value),
        () => new Table(value, other),
        () => new Cursor(value, other),
        () => new Batch(value, other),
        () => new Cache(value, other),
        () => new Cache({ max: value, ttl: other }),
        () => (typeof value === 'string' ? undefined : openSync(value, other)),
        () => (typeof value === 'string' ? undefined : Store.loadSync(value)),
      ]) {
        try {
          make()?.closeSync?.()
        } catch (error) {
          assertTyped(error, `${make}`)
        }
      }
    }
    if (typeof value === 'string') continue
    for (const promise of [
      open(value),
      check(value),
      recover(value, value),
      new Store().save(value ?? null),
    ]) {
      await assert.rejects(promise, (error) => {
        assertTyped(error, 'a promise')
        return true
      })
    }
  }
})
