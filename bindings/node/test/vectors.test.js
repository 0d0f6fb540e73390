// Runs the published vector file, as every other host does. The WebAssembly package runs this too.
import { test } from 'node:test'
import * as twindex from 'twindex'
import { casesByIndex, decode, Runner } from '../../../conformance/vectors.js'

const { Store } = twindex

/** The steps of stores in memory. */
const ofMemory = {
  memory_limit({ store }, { bytes }) {
    store.memoryLimit = bytes
  },
  load(_, { bytes }) {
    Store.loadSync(decode(bytes)).closeSync()
  },
}

for (const [{ name, steps }, index] of casesByIndex()) {
  for (const codec of ['bytes', 'view']) {
    test(`${name} (${[index, codec].filter(Boolean).join(', ')})`, () =>
      new Runner(new Store(), codec, twindex, ofMemory).checkAll(steps, index))
  }
}
