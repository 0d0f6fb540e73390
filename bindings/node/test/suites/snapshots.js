// A store for the tests of snapshots and transactions.
import assert from 'node:assert/strict'
import { Store } from 'twindex'

export const names = ['a', 'b', 'c', 'd']

/** A store with a table of each index, whatever it is kept in. */
export function filled(store = new Store()) {
  const hash = store.table('hash', { values: 'int' })
  const sorted = store.table('sorted', { index: 'sorted', keys: 'tuple', values: 'json' })
  for (const [n, name] of names.entries()) {
    hash.set(name, n)
    sorted.set([name, n], { n })
  }
  return { store, hash, sorted }
}

/** What each of some calls gives. */
export function give(calls) {
  for (const [call, result] of calls) assert.deepEqual(call(), result, String(call))
}
