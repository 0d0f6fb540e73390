// The vectors of all verbs, as every host runs them.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { cases, casesByIndex, ENDS, Runner, SCOPES } from '../../../conformance/vectors.js'
import * as twindex from '../index.js'
import { cluster } from './cluster.js'

// A cluster's limit is the servers', and its tables go into a file by `twindex pull`.
const OF_MEMORY = ['memory_limit', 'reload', 'load']
const LACKS = [...ENDS, ...SCOPES]
// In the engine a batch is done one by one; here it is done by several servers at once.
const DONE_OTHERWISE = 'increment_many stops at the first that fails'

function runsHere({ name, steps }) {
  const verbs = steps.map((step) => step.do)
  if (name === DONE_OTHERWISE || verbs.some((verb) => LACKS.includes(verb))) return false
  return verbs.includes('close') || !verbs.some((verb) => OF_MEMORY.includes(verb))
}

const { url, end } = await cluster()
after(end)

test('only what is of memory is left out', () => {
  assert.equal(cases.filter((one) => !runsHere(one)).length, 45)
})

let number = 0
for (const [one, index] of casesByIndex()) {
  if (!runsHere(one)) continue
  const namespace = `node-${process.pid}-${++number}`
  const steps = one.steps.filter((step) => !OF_MEMORY.includes(step.do))
  test(`${one.name} (${index})`, async () =>
    new Runner(await twindex.connect(url, { namespace }), 'view', twindex).checkAll(steps, index))
}
