// Random arguments of every call, and wrong ones of what only this package has.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Batch, Cache, Cursor, check, open, openSync, recover, Store, Table, TwindexError } from 'twindex'

const BYTES = Buffer.from('a')

test('what belongs to a store is not cloned', () => {
  const store = new Store()
  const [table, sorted] = [store.table('t'), store.table('s', { index: 'sorted' })]
  const isTold = { name: 'DataCloneError', message: /new Store\(\{ shared: 'name' \}\)/ }
  for (const each of [store, table, table.entries(), sorted.cursor()])
    assert.throws(() => structuredClone(each), isTold)
  const cache = new Cache({ max: 1 })
  assert.throws(() => structuredClone(cache), { ...isTold, message: /new Cache\(\{ shared: 'name' \}\)/ })
  const snapshot = store.snapshot()
  assert.throws(() => structuredClone(snapshot), { ...isTold, message: /Snapshot stays in its thread/ })
})

const ROUNDS = Number(process.env.TWINDEX_STRESS ?? 1) * 4000

const random = (count) => Math.floor(Math.random() * count)
const pick = (items) => items[random(items.length)]

const detached = new Uint8Array(4)
structuredClone(detached.buffer, { transfer: [detached.buffer] })
const revoked = Proxy.revocable([], {})
revoked.revoke()
const fails = (what) => () => {
  throw new RangeError(what, { cause: 'ours' })
}

const VALUES = [
  ...[undefined, null, true, 0, -0, 1, -1, 1.5, 2 ** 31, 2 ** 32, 2 ** 53, 1e300, Number.NaN, Infinity],
  ...['', 'a', 'key', '\ud800', 'ä€', '\0', 'x'.repeat(70_000), 'hash', 'sorted', 'str', 'tuple', 'none'],
  ...[0n, 1n, -(2n ** 63n), 2n ** 64n, Symbol('s'), Symbol.iterator],
  ...[[], ['a'], ['a', 'b'], ['a', 'b', 'c'], [[[1]]], [['a', 'b']], [['a', 1]], [[BYTES, BYTES]]],
  ...[[['a', undefined, 'b']], Array(3), new Set(['a']), new Map([['a', 'b']])],
  ...[Buffer.alloc(0), Buffer.from('key'), new Uint8Array(70_000), new DataView(new ArrayBuffer(3))],
  ...[detached, new Uint8Array(new SharedArrayBuffer(8)), new Float64Array(2), new ArrayBuffer(4)],
  ...[{ length: 3 }, revoked.proxy, {}, { toString: () => 'key' }, { toJSON: () => undefined }],
  ...[{ gte: 'a' }, { gt: 'a', gte: 'b' }, { limit: -1 }, { prefix: 'a' }, { reverse: 1 }, { limit: 3 }],
  ...[{ index: 'sorted' }, { keys: 'int' }, { values: {} }, { signal: 1 }],
  ...[() => 'a', () => undefined, () => ({}), async () => 'a'],
  ...[new Date(), /a/, new Error('e'), Promise.resolve(), new WeakMap()],
  Object.defineProperty({}, 'gte', { get: fails('of the getter'), enumerable: true }),
  { [Symbol.iterator]: fails('of the iterator') },
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
  const isRange = ['TWINDEX_RANGE', 'TWINDEX_CAPACITY', 'TWINDEX_TTL'].includes(error.code)
  const Class = isRange ? RangeError : error.code === 'TWINDEX_TYPE' ? TypeError : TwindexError
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
const APART = ['close', 'closeSync', 'save', 'saveSync', 'flush', 'compact', 'dump', 'refresh', 'follow']

/** Calls any method of an object with any arguments. */
async function callAny(target, name) {
  const method = pick(methodsOf(target.constructor).filter((each) => !APART.includes(each)))
  try {
    const result = target[method](...Array.from({ length: random(4) }, () => pick(VALUES)))
    if (typeof result?.next === 'function') for (let step = 0; step < 3; step++) result.next()
    if (result instanceof Promise) await result
    // A watch that waits keeps the process alive.
    result?.close?.()
  } catch (error) {
    assertTyped(error, `${target.constructor.name}.${method} of ${name}`)
  }
}

const KEYS = ['str', 'bytes', 'view', 'int', 'bigint', 'tuple']
const CODECS = [...KEYS.slice(0, 5), 'json', 'msgpack']

test('every call takes any argument, or refuses it by a typed error', async () => {
  const store = new Store({ memoryLimit: 2 ** 26 })
  for (let round = 0; round < ROUNDS; round++) {
    const index = pick(['hash', 'sorted'])
    const codecs = { keys: pick(KEYS), values: pick(CODECS) }
    // A table remembers its codecs, so each choice of them has its own.
    const name = JSON.stringify(codecs)
    const table = store.table(`${index} ${name}`, { index, ...codecs })
    const other = index === 'sorted' ? table.cursor() : new Cache({ ...codecs, max: 100 })
    const expiring = store.table(`expiring ${index} ${name}`, { index, expires: true, ...codecs })
    const snapshot = store.snapshot()
    const targets = [
      store,
      table,
      table,
      table,
      expiring,
      store.batch(),
      other,
      snapshot,
      snapshot.table(table.name),
    ]
    await callAny(pick(targets), name)
    await store.transaction((tx) => callAny(pick([tx, tx.table(table.name)]), name))
    snapshot.close()
    if (round % 500 !== 0) continue
    for (const [kept, index] of store.tables()) {
      const seen = store.table(kept, { index, keys: 'bytes', values: 'bytes' })
      if (!kept.startsWith('expiring')) assert.equal([...seen].length, seen.size)
      if (!/^(hash|sorted) /.test(kept)) store.dropTable(kept)
    }
  }
})

test('every function and constructor takes any argument, or refuses it by a typed error', async () => {
  for (const value of VALUES) {
    const isPath = typeof value === 'string'
    for (const other of VALUES.slice(0, 40)) {
      for (const make of [
        () => new Store(value),
        () => new Table(value, other),
        () => new Cursor(value, other),
        () => new Batch(value, other),
        () => new Cache(value, other),
        () => new Cache({ max: value, ttl: other }),
        () => (isPath ? undefined : openSync(value, other)),
        () => (isPath ? undefined : Store.loadSync(value)),
      ]) {
        try {
          make()?.closeSync?.()
        } catch (error) {
          assertTyped(error, `${make}`)
        }
      }
    }
    if (isPath) continue
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
