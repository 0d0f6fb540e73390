// Snapshots.

import { takeRows } from './block.js'
import { utf8 } from './codecs.js'
import { openTable } from './expiring.js'
import { readNamed } from './named.js'
import { native } from './native.js'
import { INTERNAL } from './shared/internal.js'
import { Snapshot } from './shared/snapshot.js'

const forgotten = new FinalizationRegistry(native.closeSnapshot)

/** The snapshot that the native half has opened by this number. */
export function openSnapshot(store, handle) {
  const token = {}
  const snapshot = new Snapshot(INTERNAL, store, {
    open(owner, name, options) {
      const { named, asked } = readNamed(name, options)
      return openTable(store, name, named, native.openSnapshotTable(handle, ...asked), { snapshot: owner })
    },
    tables() {
      native.snapshotTables(handle)
      return takeRows([utf8, utf8]).map((show) => show())
    },
    position: () => native.snapshotPosition(handle),
    close() {
      forgotten.unregister(token)
      native.closeSnapshot(handle)
    },
  })
  forgotten.register(snapshot, handle, token)
  return snapshot
}
