import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryChart, throughputCharts } from '../src/charts.js'
import { rows } from '../src/figures.js'
import { sample } from './sample.js'

test('every step has a chart with a bar for every host and number of threads', () => {
  const charts = throughputCharts(sample)
  assert.deepEqual(
    charts.map(({ title }) => title),
    ['Hash table: insert', 'Hash table: select', 'Sorted table: insert', 'Sorted table: scan'],
  )
  for (const { title, config } of charts) {
    assert.deepEqual(config.data.labels, ['1 thread', '2 threads'], title)
    const bars = Object.fromEntries(config.data.datasets.map(({ label, data }) => [label, data]))
    assert.deepEqual(bars, {
      rust: [0.8, 0.8],
      python: [0.2, 0.2],
      node: [0.2, 0.2],
      wasmtime: [0.4, null],
      'wasm-node': [0.16, null],
    })
  }
})

test('the chart of memory has every host, and both kinds of table counted both ways', () => {
  const { config } = memoryChart(sample)
  assert.deepEqual(config.data.labels, ['rust', 'python', 'node', 'wasmtime', 'wasm-node'])
  assert.deepEqual(
    config.data.datasets.map(({ data }) => data),
    [50.5, 60.5, 50.5, 60.5].map(bytes => Array(5).fill(bytes)),
  )
})

test('no two hosts of a chart share a colour', () => {
  for (const { config } of [...throughputCharts(sample), memoryChart(sample)]) {
    const colours = config.data.datasets.map(({ backgroundColor }) => backgroundColor)
    assert.equal(new Set(colours).size, colours.length)
  }
})

test('the table has a row per result and shows what is not known as nothing', () => {
  const [head, first, second] = rows(sample)
  assert.equal(rows(sample).length, 1 + 3 * 8 + 2 * 4)
  assert.equal(head.cells.length, first.cells.length)
  assert.deepEqual(first.cells, ['rust', 'unordered_write', '1,000', '1', '1.3', '800,000', '50.5', '60.5'])
  assert.deepEqual(second.cells.slice(6), ['', ''])
  assert.equal(rows(sample).filter(({ startsHost }) => startsHost).length, sample.hosts.length)
})
