// What JavaScript forgets, and what a call took, the native half gives back. Needs --expose-gc.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cache, Store } from 'twindex'
import { heard, thread, until } from './helpers.js'

/** Collects until `holds`; finalizers run in tasks of their own, whenever the system has time for them. */
const collectUntil = (what, holds) =>
  until(what, () => {
    globalThis.gc()
    return holds()
  })

/** Waits until the process has grown by no more than so many bytes since it had `before`. */
const shrinks = (before, most) =>
  collectUntil(`the process has not grown by ${most} bytes`, () => process.memoryUsage.rss() - before < most)

/** A shared store is gone once nobody has it, so an empty one shows that the last was let go of. */
function isGone(shared) {
  const store = new Store({ shared })
  const { length } = store.tables()
  store.closeSync()
  return length === 0
}

const WAYS = {
  'a store': (store) => [store],
  'a table': (store) => [store.table('t')],
  'a table whose pairs expire': (store) => [store.table('t', { expires: true })],
  'a cursor': (store) => [store.table('t', { index: 'sorted' }).cursor()],
  'an iterator that was not begun': (store) => [store.table('t', { index: 'sorted' }).entries()],
  'an iterator that was left': (store) => {
    const table = store.table('t')
    for (let i = 0; i < 1000; i++) table.set(`k${i}`, 'v')
    const iterator = table.keys()
    iterator.next()
    return [iterator]
  },
}

for (const [what, open] of Object.entries(WAYS)) {
  test(`${what} keeps its store, and no longer than it lasts`, async () => {
    const shared = `gc of ${what}`
    const held = open(new Store({ shared }))
    new Store({ shared }).table('mark')
    for (let attempt = 0; attempt < 5; attempt++) {
      globalThis.gc()
      await sleep(1)
    }
    assert.equal(isGone(shared), false)
    held.pop()
    await collectUntil('the store is let go of', () => isGone(shared))
  })
}

test('the process does not grow with what is forgotten', async () => {
  const value = new Uint8Array(100_000)
  const forget = (count) => {
    for (let i = 0; i < count; i++) {
      const store = new Store()
      const table = store.table('t', { index: 'sorted', values: 'view' })
      const cache = new Cache({ capacity: 4_000_000, values: 'view' })
      for (let pair = 0; pair < 10; pair++) {
        table.set(`k${pair}`, value)
        cache.set(`k${pair}`, value)
      }
      table.cursor().scanAscNext()
      for (const _ of table) break
    }
  }
  forget(10)
  const before = process.memoryUsage.rss()
  // Two megabytes each: 400 of them, were they kept.
  for (let round = 0; round < 20; round++) {
    forget(10)
    globalThis.gc()
    await sleep(1)
  }
  await shrinks(before, 200e6)
})

test('what many arguments and results took is given back', async () => {
  const table = new Store().table('t', { values: 'view' })
  table.upsertMany([['k', new Uint8Array(1000)]])
  table.selectMany(['k'])
  globalThis.gc()
  const before = process.memoryUsage.rss()
  const move = () => {
    table.upsertMany([['k', new Uint8Array(150_000_000)]])
    assert.equal(table.selectMany(['k'])[0].length, 150_000_000)
    table.clear()
  }
  move()
  // 150 megabytes each, were the staged pair or the result kept.
  await shrinks(before, 100e6)
})

test('a scan with a limit reads no more at once than a block has', () => {
  const store = new Store()
  const raw = store.table('t', { index: 'sorted', values: 'view' })
  const pairs = 100
  for (let pair = 0; pair < pairs; pair++) raw.set(`k${pair}`, new Uint8Array(200_000).fill(120))
  for (const values of ['view', 'bytes']) {
    globalThis.gc()
    const before = process.memoryUsage().arrayBuffers
    const scan = store.table('t', { index: 'sorted', values }).scan({ limit: pairs })
    assert.equal(scan.next().value[1].length, 200_000)
    // 20 megabytes, were all of them read.
    const read = process.memoryUsage().arrayBuffers - before
    assert.ok(read < 5e6, `${read} bytes`)
    assert.equal([...scan].length, pairs - 1)
  }
})

test('a worker that is ended leaves no memory behind, nor the dump that it waits for', async () => {
  const endSome = async (workers) => {
    for (let at = 0; at < workers; at++) {
      const worker = thread('hoarder')
      await heard(worker)
      await worker.terminate()
    }
  }
  await endSome(1)
  const before = process.memoryUsage.rss()
  await endSome(6)
  // 240 megabytes, were the stores kept, and as many, were the dumps.
  await shrinks(before, 150e6)
})
