// What JavaScript forgets, the native half lets go of. Needs --expose-gc.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Store } from 'twindex'

/** Collects until `holds`; finalizers run in tasks of their own. */
async function collectUntil(holds) {
  for (let attempt = 0; attempt < 100; attempt++) {
    globalThis.gc()
    await setImmediate()
    if (holds()) return
  }
  assert.fail('it was not let go of')
}

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
    let held = open(new Store({ shared }))
    new Store({ shared }).table('mark')
    for (let attempt = 0; attempt < 5; attempt++) {
      globalThis.gc()
      await setImmediate()
    }
    assert.equal(isGone(shared), false)
    assert.equal(held.length, 1)
    held = undefined
    await collectUntil(() => isGone(shared))
  })
}

test('the process does not grow with what is forgotten', async () => {
  const value = 'x'.repeat(100_000)
  const churn = async (rounds) => {
    for (let i = 0; i < rounds; i++) {
      const table = new Store().table('t', { index: 'sorted' })
      for (let pair = 0; pair < 20; pair++) table.set(`k${pair}`, value)
      table.cursor().scanAscNext()
      for (const _ of table) break
      if (i % 20 === 0) {
        globalThis.gc()
        await setImmediate()
      }
    }
  }
  await churn(100)
  const before = process.memoryUsage().rss
  // Two megabytes each: 800 of them, were they kept.
  await churn(400)
  const grown = process.memoryUsage().rss - before
  assert.ok(grown < 200e6, `it grew by ${Math.round(grown / 1e6)} MB`)
})

test('large arguments and results are given back', async () => {
  const table = new Store().table('t')
  const big = 'x'.repeat(50_000_000)
  table.set('big', big)
  assert.equal(table.get('big').length, big.length)
  table.delete('big')
  const before = process.memoryUsage().rss
  for (let i = 0; i < 20; i++) {
    table.upsertMany([['big', big]])
    assert.equal(table.selectMany(['big'])[0].length, big.length)
    table.clear()
    globalThis.gc()
    await setImmediate()
  }
  const grown = process.memoryUsage().rss - before
  assert.ok(grown < 300e6, `it grew by ${Math.round(grown / 1e6)} MB`)
})
