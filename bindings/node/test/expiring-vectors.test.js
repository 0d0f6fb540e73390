// What tables whose pairs expire must do in every language.
import { test } from 'node:test'
import * as twindex from 'twindex'
import { casesByIndex, Runner, read } from '../../../conformance/vectors.js'

for (const [{ name, steps }, index] of casesByIndex([], read('expiring.json').cases)) {
  test(`${name} (${index})`, () =>
    new Runner(new twindex.Store(), 'bytes', twindex).checkAll(steps, index, true))
}
