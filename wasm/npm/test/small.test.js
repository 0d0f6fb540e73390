// The vectors on the module of pages, which has no transactions. On the others Node's test runs them.
import { test } from 'node:test'
import { load } from 'twindex-wasm'
import { casesByIndex, Runner } from '../../../conformance/vectors.js'

const twindex = await load(new URL('../twindex.wasm', import.meta.url))

for (const [{ name, steps }, index] of casesByIndex(['memory_limit', 'reload', 'load', 'transaction'])) {
  test(`${name} (${[index, 'small'].filter(Boolean).join(', ')})`, () =>
    new Runner(new twindex.Store(), 'view', twindex).checkAll(steps, index))
}
