// The requests of members: what they want the holder to do, step by step, and what they were shown meanwhile.

import { makeError, rangeError } from '../shared/errors.js'
import { INTERNAL } from '../shared/internal.js'
import { Transaction } from '../shared/transaction.js'
import { isEqualBytes } from '../shared/views.js'

/** The table in which the holder notes what it did for members. */
export const REQUESTS = 'twindex:requests'
/** The verb `upsert`, as transactions number it. */
export const UPSERT = 2

/** The answer of a verb on items, as it can be sent. */
export const asData = (verb, answer) =>
  verb === 'range' ? answer.map(([item, , , keep]) => [item, keep()]) : answer

export function isSame(answer, other) {
  if (ArrayBuffer.isView(answer)) return ArrayBuffer.isView(other) && isEqualBytes(answer, other)
  if (!Array.isArray(answer)) return Object.is(answer, other)
  return answer.length === other?.length && answer.every((item, at) => isSame(item, other[at]))
}

export const isRead = ([, , verb]) => verb === 'select' || verb === 'range'
export const isPlain = ([, , verb, [which]]) => verb === 'delete' || (verb === 'write' && which === UPSERT)
const flagsOf = ({ codecs: { keys, values }, names }) => [keys.isBytes, values.isBytes, ...names]

export function checkTable(name) {
  if (name !== REQUESTS) return
  throw rangeError(`the table name ${REQUESTS} is reserved`)
}

/** Fails for a table whose pairs expire: tabs would not agree when. */
export function checkStays({ expires }) {
  if (!expires) return
  throw makeError('TWINDEX_NOT_SUPPORTED', 'a connected store has no tables whose pairs expire: use open()')
}

/** Access to a transaction that keeps to the tables of users. */
export function guarded(access) {
  const open = (name, options) => {
    checkTable(name)
    const opened = access.open(name, options)
    checkStays(opened.described)
    return opened
  }
  return { ...access, open }
}

/** Access to a transaction on a copy that adds to `steps` what is read and written, and is never committed. */
export function recording(access, steps) {
  steps.length = 0
  const open = (name, options) => {
    const { described, verbs } = access.open(name, options)
    const recorded = Object.entries(verbs).map(([verb, work]) => [
      verb,
      (...args) => {
        const answer = work(...args)
        steps.push([name, flagsOf(described), verb, args, asData(verb, answer)])
        return answer
      },
    ])
    return { described, verbs: Object.fromEntries(recorded) }
  }
  return { ...access, open, commit() {} }
}

/** The steps of one verb of a table, of which nothing is done yet. */
export function stepsOf(store, described, method, args) {
  const steps = []
  const put =
    (verb) =>
    (...given) =>
      void steps.push([described.name, flagsOf(described), verb, given])
  const verbs = { write: put('write'), delete: put('delete'), increment: put('increment') }
  const transaction = new Transaction(INTERNAL, store, { open: () => ({ described, verbs }) })
  transaction.table(described.name)[method](...args)
  return steps
}
