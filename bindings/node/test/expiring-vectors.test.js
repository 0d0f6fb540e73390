// What tables whose pairs expire must do in every language.
import { test } from 'node:test'
import * as twindex from 'twindex'
import { casesByIndex, expiring, Runner } from '../../../conformance/vectors.js'

for (const [{ name, steps }, index] of casesByIndex([], expiring)) {
  test(`${name} (${index})`, () =>
    new Runner(new twindex.Store(), 'bytes', twindex).checkAll(steps, index, true))
}
