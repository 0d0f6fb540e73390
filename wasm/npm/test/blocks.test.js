// Texts come out of the module many at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load } from 'twindex-wasm'

const { Store } = await load()
const FILLS = [
  '',
  'a',
  'abc',
  'x'.repeat(127),
  'y'.repeat(128),
  'z'.repeat(300),
  'ä',
  'ö'.repeat(64),
  '日本',
  '\ufffd',
  '\0',
  'w'.repeat(9000),
]

/** Pairs in order, whose texts have all lengths and alphabets; none but ASCII in the first so many. */
const pairsOf = (ascii) =>
  Array.from({ length: 3000 }, (_, at) => [
    `${String(at).padStart(5, '0')}${at < ascii ? '' : FILLS[(at >> 4) % FILLS.length]}`,
    at < ascii ? `${at}` : FILLS[at % FILLS.length],
  ])

for (const ascii of [0, 1500, 3000]) {
  test(`walks, cursors and batches give every text whole, the first ${ascii} ASCII`, () => {
    const pairs = pairsOf(ascii)
    const [hash, sorted] = ['hash', 'sorted'].map((index) => new Store().table(index, { index }))
    for (const table of [hash, sorted]) {
      table.insertMany(pairs)
      assert.deepEqual(new Map(table), new Map(pairs))
      assert.deepEqual(
        table.selectMany(pairs.map(([key]) => key)),
        pairs.map(([, value]) => value),
      )
    }
    assert.deepEqual(
      [...sorted.values()],
      pairs.map(([, value]) => value),
    )
    assert.deepEqual([...sorted.scan({ reverse: true })], pairs.toReversed())
    const cursor = sorted.cursor()
    assert.deepEqual(
      pairs.map(() => cursor.scanAscNext()),
      pairs,
    )
    assert.deepEqual(
      pairs.slice(1).map(() => cursor.scanDescNext()),
      pairs.toReversed().slice(1),
    )
  })
}

test('a step of a cursor sees what was written just before', () => {
  const table = new Store().table('t', { index: 'sorted' })
  for (let at = 100; at < 200; at++) table.set(`${at}`, 'old')
  const cursor = table.cursor()
  for (let at = 100; at < 200; at++) {
    if (at % 3 === 0) table.set(`${at}`, `new ${at}`)
    if (at % 7 === 0) table.set(`${at - 1}+`, 'between')
    if (at % 7 === 0) assert.deepEqual(cursor.scanAscNext(), [`${at - 1}+`, 'between'])
    assert.deepEqual(cursor.scanAscNext(), [`${at}`, at % 3 === 0 ? `new ${at}` : 'old'])
  }
  assert.equal(cursor.scanAscNext(), undefined)
})

test('code of a codec may use the walk and the cursor that call it', () => {
  let inner
  const decode = (bytes) => {
    const text = String.fromCharCode(...bytes)
    const run = inner
    inner = undefined
    run?.()
    inner = run
    return text
  }
  const keys = { name: 'own', encode: (key) => new TextEncoder().encode(key), decode }
  const table = new Store().table('t', { index: 'sorted', keys })
  const pairs = Array.from({ length: 200 }, (_, at) => [`${100 + at}`, `value ${at}`])
  table.insertMany(pairs)
  const [walk, cursor] = [table.entries(), table.cursor()]
  for (const next of [() => walk.next().value, () => cursor.scanAscNext()]) {
    const seen = []
    const step = () => seen.push(next())
    inner = step
    for (let at = 0; at < pairs.length / 2; at++) step()
    inner = undefined
    assert.deepEqual(seen.toSorted(), pairs)
  }
})

test('a text that is no UTF-8 is an error, and the next is read', () => {
  const store = new Store()
  const table = store.table('t', { index: 'sorted' })
  for (let at = 100; at < 150; at++) table.set(`${at}`, `value ${at}`)
  store.table('t', { values: 'bytes' }).set('120', new Uint8Array([0x61, 0x80]))
  const [walk, cursor] = [table.entries(), table.cursor()]
  for (const step of [() => walk.next().value, () => cursor.scanAscNext()]) {
    for (let at = 100; at < 150; at++) {
      if (at === 120) assert.throws(step, { code: 'TWINDEX_ENCODING' })
      else assert.deepEqual(step(), [`${at}`, `value ${at}`])
    }
  }
})
