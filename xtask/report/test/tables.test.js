import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sections } from '../src/parts.js'
import { changesOf, tableOf } from '../src/tables.js'
import { short } from '../src/tests.js'
import { compared, sample, withoutRedis } from './sample.js'

function stringsOf(report, missing = null) {
  const found = sections(report)
    .flatMap(({ tests }) => tests)
    .find(({ id }) => id === 'strings')
  return tableOf(found, found.parts[0], missing)
}

test('each kind of column stands apart, the published ones too', () => {
  const { spans, head, rows, foot } = stringsOf(sample)
  assert.deepEqual(
    spans.map(({ title, span }) => [title, span]),
    [
      ['In this process', 3],
      ['Twindex in its hosts', 1],
      ['Over the loopback', 1],
      ['Published, on another machine', 1],
    ],
  )
  assert.deepEqual(head, [
    '',
    'threads',
    'twindex',
    'to the best',
    'papaya',
    'twindex, python',
    'redis',
    'Index64 6.0',
  ])
  assert.deepEqual(rows[1], [
    'insert, operations/s',
    '2',
    '4 M ±10 %',
    '2.00x papaya',
    '2 M ±10 %',
    '',
    '50 k ±10 %',
    '98 k',
  ])
  assert.deepEqual(
    rows.map(([title, x]) => [title, x]).slice(0, 4),
    [
      ['insert, operations/s', '1'],
      ['insert, operations/s', '2'],
      ['select, operations/s', '1'],
      ['select, operations/s', '2'],
    ],
    'no row has nothing but what was published',
  )
  assert.match(foot, /Published beside that, Index64 6\.0, insert, operations\/s by threads: 3: 148 k$/)
})

test('a column of Redis that is empty says why', () => {
  const why = withoutRedis.remarks[0]
  const { spans, head } = stringsOf(withoutRedis, why)
  assert.ok(spans.some(({ title, span }) => title === 'Over the loopback' && span === 1))
  assert.ok(head.includes(why))
})

test('every row has as many cells as the head, and the spans are as wide', () => {
  for (const report of [sample, withoutRedis]) {
    for (const each of sections(report).flatMap(({ tests }) => tests)) {
      for (const part of each.parts) {
        const { spans, head, rows } = tableOf(each, part, report === sample ? null : 'missing')
        assert.equal(
          spans.reduce((sum, { span }) => sum + span, 2),
          head.length,
        )
        assert.ok(rows.length > 0 && rows.every(cells => cells.length === head.length), each.id)
      }
    }
  }
})

test('the comparison leaves noise out and has Twindex first', () => {
  const { rows, quiet } = changesOf(compared.comparison)
  assert.deepEqual(
    rows.map(cells => [cells[0], cells.at(-1)]),
    [
      ['twindex', 'faster'],
      ['papaya', 'slower'],
    ],
  )
  assert.equal(quiet, 1)
})

test('figures are short', () => {
  const cases = [
    [12_345_678, '12.3 M'],
    [123_456, '123 k'],
    [1234.5, '1,235'],
    [0.05, '0.05'],
    [0.00012, '1.20e-4'],
    [0, '0'],
    [undefined, ''],
  ]
  for (const [value, text] of cases) assert.equal(short(value), text)
})

test('of hits more is better, and what does no work is no rival', () => {
  const tests = sections(withoutRedis).flatMap(section => section.tests)
  const rowsOf = id => {
    const found = tests.find(test => test.id === id)
    return found.parts.map(part => tableOf(found, part, null))
  }
  const [zipf, loop] = rowsOf('cache_hits')
  assert.deepEqual(zipf.head, ['', 'pairs that the cache holds', 'twindex', 'to the best', 'moka'])
  assert.deepEqual(zipf.rows[1], ['hits, %', '10,000', '70 ±10 %', '1.17x moka', '60 ±10 %'])
  assert.equal(loop.rows.length, 2)
  assert.deepEqual(rowsOf('cache_pauses')[0].head, ['', 'percentile', 'twindex', 'no work'])
})
