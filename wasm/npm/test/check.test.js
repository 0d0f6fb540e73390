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

// What `check` of the native packages says of them.
const REPORTS = {
  'version-1-dump': {
    bytes: 82708,
    dumpBytes: 82708,
    logBytes: 0,
    records: 11,
    dumpPairs: 1107,
    operations: 0,
  },
  'version-1-log': {
    bytes: 116668,
    dumpBytes: 82708,
    logBytes: 33960,
    records: 109,
    dumpPairs: 1107,
    operations: 88,
  },
  'version-1-python': { bytes: 394, dumpBytes: 196, logBytes: 198, records: 12, dumpPairs: 3, operations: 5 },
}

for (const [name, expected] of Object.entries(REPORTS)) {
  test(`nothing is wrong with ${name}`, async () => {
    const report = await check(golden(name))
    assert.deepEqual(report, { version: 1, damage: [], torn: undefined, ...expected })
    const { file, tables } = await recover(golden(name))
    assert.deepEqual(all(Store.loadSync(file)), all(Store.loadSync(golden(name))))
    assert.equal(tables.length, Store.loadSync(file).tables().length)
  })
}

test('damage anywhere is told, and costs no more than its record', async () => {
  const whole = golden('version-1-log')
  const pairs = (store) => all(store).reduce((count, [, , pairs]) => count + pairs.length, 0)
  const had = pairs(Store.loadSync(whole))
  for (let at = 24; at < whole.length; at += 3001) {
    const bad = whole.slice()
    bad[at] ^= 1
    assert.throws(() => Store.loadSync(bad), { code: 'TWINDEX_CORRUPT' })
    const report = await check(bad)
    assert.equal(report.damage.length, 1, `${at}`)
    const [{ offset, bytes, what }] = report.damage
    assert.ok(offset <= at && at < offset + bytes, `${at}: ${offset} and ${bytes}`)
    assert.match(what, /damaged/)
    const { file, report: again } = await recover(bad)
    assert.deepEqual(again, report)
    assert.ok(pairs(Store.loadSync(file)) > had / 4, `${at}`)
  }
})

test('tables of which the record is lost are called recovered', async () => {
  const store = new Store()
  const table = store.table('t', { index: 'sorted', keys: 'bytes', values: 'bytes' })
  for (let key = 0; key < 3; key++) table.set(new Uint8Array([key]), new Uint8Array([key, key]))
  const bad = store.dumpSync()
  // The first record behind the header, which describes the table.
  bad[24 + 12] ^= 1
  const { tables, file } = await recover(bad)
  assert.deepEqual(tables, [{ name: 'recovered 0', index: 'sorted', pairs: 3 }])
  const saved = Store.loadSync(file).table('recovered 0', { index: 'sorted', keys: 'bytes', values: 'bytes' })
  assert.deepEqual([...saved], [...table])
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
