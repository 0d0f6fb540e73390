import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chartsOf } from '../src/charts.js'
import { sections } from '../src/parts.js'
import { sample } from './sample.js'

const tests = sections(sample).flatMap(section => section.tests)
const find = id => tests.find(test => test.id === id)
const charts = id => find(id).parts.flatMap(part => chartsOf(find(id), part))

test('what is in process and what is over the loopback never share a chart', () => {
  for (const each of tests.flatMap(test => test.parts.flatMap(part => chartsOf(test, part)))) {
    const names =
      each.config.data.datasets.length > 1 ? each.config.data.datasets.map(({ label }) => label) : []
    assert.equal(names.includes('redis') && names.length > 1, false, each.title)
  }
  const groups = charts('strings').map(({ group }) => group)
  assert.deepEqual(groups, ['process', 'process', 'hosts', 'loopback', 'loopback'])
})

test('throughput is drawn by threads, Twindex first', () => {
  const [insert] = charts('strings')
  assert.equal(insert.config.type, 'line')
  assert.deepEqual(insert.config.data.labels, ['1', '2'])
  assert.deepEqual(
    insert.config.data.datasets.map(({ label, data }) => [label, data]),
    [
      ['twindex', [2e6, 4e6]],
      ['papaya', [1e6, 2e6]],
    ],
  )
})

test('latency is drawn by percentile on a logarithmic scale, for the workloads of the document', () => {
  const all = charts('ycsb_latency')
  assert.deepEqual(
    all.map(({ group }) => group),
    ['process', 'loopback'],
  )
  assert.deepEqual(all[0].config.data.labels, ['average', '50', '99', 'worst'])
  assert.equal(all[0].config.options.scales.y.type, 'logarithmic')
  assert.equal(find('ycsb_latency').parts.length, 2)
})

test('where nothing but the system differs there is a bar for each', () => {
  const [small] = charts('append_memory')
  assert.equal(small.config.type, 'bar')
  assert.deepEqual(small.config.data.labels, ['twindex', 'papaya'])
  assert.deepEqual(small.config.data.datasets[0].data, [104, 102])
})

test('no two systems of a chart share a colour', () => {
  for (const { config, title } of tests.flatMap(test => test.parts.flatMap(part => chartsOf(test, part)))) {
    const colours = config.data.datasets.flatMap(({ backgroundColor }) => backgroundColor)
    assert.equal(new Set(colours).size, colours.length, title)
  }
})
