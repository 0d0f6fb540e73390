// Snapshots.

import { openNamed, readNamed, tablesOf } from './named.js'
import { makeError } from './shared/errors.js'
import { INTERNAL } from './shared/internal.js'
import { Snapshot } from './shared/snapshot.js'

/** A snapshot of the store that has this handle. */
export function openSnapshot(core, store, storeHandle) {
  core.tick() // it hides what has expired by now
  const handle = core.status(core.exports.twindex_snapshot(storeHandle))
  const snapshot = new Snapshot(INTERNAL, store, {
    open(owner, name, options) {
      const { handle: table, described } = openNamed(core, handle, name, readNamed(name, options), false)
      return core.openTable(core, store, { ...described, snapshot: owner }, table)
    },
    tables: () => tablesOf(core, handle),
    position() {
      throw makeError('TWINDEX_NOT_SUPPORTED', 'stores of this package have no feed, and so no positions')
    },
    close: () => void core.exports.twindex_close(handle),
  })
  core.forgotten.register(snapshot, handle)
  return snapshot
}
