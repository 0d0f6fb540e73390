// Files that are damaged: what is wrong with them is told, and what is left is saved, as by the tool and the other packages.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { load } from 'twindex-wasm'

const { Store, check, recover } = await load()
const golden = (name) =>
  new Uint8Array(readFileSync(new URL(`../../../conformance/golden/${name}.twx`, import.meta.url)))

/** All that a store has, as bytes. */
const all = (store) =>
  store
    .tables()
    .map(([name, index]) => [name, index, [...store.table(name, { index, keys: 'bytes', values: 'bytes' })]])

test('the report is that of the native packages, and nothing is lost of a whole file', async () => {
  const file = golden('version-1-log')
  assert.deepEqual(await check(file), {
    ...{ version: 1, bytes: 116668, dumpBytes: 82708, logBytes: 33960 },
    ...{ records: 109, dumpPairs: 1107, operations: 88, damage: [], torn: undefined },
  })
  const { file: saved, tables } = await recover(file)
  assert.deepEqual(all(Store.loadSync(saved)), all(Store.loadSync(file)))
  assert.equal(tables.length, Store.loadSync(saved).tables().length)
})

test('damage is told, and costs no more than its record', async () => {
  const bad = golden('version-1-log')
  bad[3001] ^= 1
  assert.throws(() => Store.loadSync(bad), { code: 'TWINDEX_CORRUPT' })
  const report = await check(bad)
  assert.equal(report.damage.length, 1)
  const [{ offset, bytes, what }] = report.damage
  assert.ok(offset <= 3001 && 3001 < offset + bytes, `${offset} and ${bytes}`)
  assert.match(what, /damaged/)
  const { file, report: again } = await recover(bad)
  assert.deepEqual(again, report)
  assert.ok(all(Store.loadSync(file)).flatMap(([, , pairs]) => pairs).length > 500)
})

test('an unfinished end is no damage', async () => {
  const whole = golden('version-1-python')
  // The log ends with what was on disk, so what follows it was not.
  const torn = new Uint8Array([...whole, 4, 9, 0, 0, 0, 0, 7])
  const report = await check(torn)
  assert.deepEqual([report.damage, report.torn], [[], { offset: whole.length, bytes: 7 }])
  const { file } = await recover(torn)
  assert.deepEqual(all(Store.loadSync(file)), all(Store.loadSync(whole)))
})

test('what is no store is an error, and so is what takes too much memory', async () => {
  const whole = golden('version-1-dump')
  const isCorrupt = { code: 'TWINDEX_CORRUPT', message: /^corrupt at byte \d+/ }
  for (const none of [new Uint8Array(100), whole.slice(0, 10), whole.slice(0, 20), whole.with(8, 2)]) {
    await assert.rejects(check(none), isCorrupt)
    await assert.rejects(recover(none), isCorrupt)
  }
  const large = new Store()
  large.table('t').set('k', 'x'.repeat(4 << 20))
  await assert.rejects(check(large.dumpSync(), { memoryLimit: 1000 }), { code: 'TWINDEX_MEMORY_LIMIT' })
  await assert.rejects(check('app.twx'), { code: 'TWINDEX_TYPE' })
  await assert.rejects(check(whole, { limit: 1 }), /no option 'limit'/)
})
