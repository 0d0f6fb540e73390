// Snapshots and transactions.

import { takePairs, takeRows } from './block.js'
import { accessOf, utf8 } from './codecs.js'
import { KEY, VALUE } from './crossing.js'
import { openTable } from './expiring.js'
import { crossRange, describe, readNamed } from './named.js'
import { native } from './native.js'
import { DOWN, UP } from './scan.js'
import { INTERNAL } from './shared/internal.js'
import { Snapshot } from './shared/snapshot.js'
import { transact } from './shared/transaction.js'
import { tracking } from './tasks.js'

const forgottenSnapshots = new FinalizationRegistry(native.closeSnapshot)

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
      forgottenSnapshots.unregister(token)
      native.closeSnapshot(handle)
    },
  })
  forgottenSnapshots.register(snapshot, handle, token)
  return snapshot
}

const { joined, transaction } = native

/** Frees a transaction and its tables. */
function free({ handle, tables }) {
  for (const table of tables) joined.free(table)
  transaction.free(handle)
}

/** For those of functions that never end. */
const forgotten = new FinalizationRegistry(free)

const tracker = tracking()
const WRITES = [joined.insert, joined.replace, joined.upsert]

function verbsOf(table, codecs) {
  const { keys, values } = codecs
  const cross = (item) => keys.cross(item, KEY)
  const { keep, swap } = accessOf(table, codecs, { select: joined.select, swap: joined.compareAndSwap })
  return {
    select: keep,
    swap,
    write: (verb, item, value, ttl) => WRITES[verb](table, cross(item), values.cross(value, VALUE), ttl),
    delete: (item) => joined.delete(table, cross(item)),
    increment: (item, by, ttl) => joined.increment(table, cross(item), by, ttl),
    ttl: (item) => joined.ttl(table, cross(item)),
    touch: (item, ttl) => joined.touch(table, cross(item), ttl),
    range(range, limit, isDown) {
      const { from, low, to, high } = crossRange(range, keys)
      joined.range(table, isDown ? DOWN : UP, limit, from, low, to, high)
      return takePairs(codecs)
    },
  }
}

export function runTransaction(store, storeHandle, run, identify) {
  const begin = () => {
    const handle = transaction.begin(storeHandle)
    const opened = { handle, tables: [] }
    const access = {
      open(name, options) {
        const { named, asked } = readNamed(name, options)
        const table = transaction.open(handle, ...asked)
        opened.tables.push(table)
        const described = describe(name, named)
        const { keys, values } = described.codecs
        joined.see(table, Number(keys.isBytes), Number(values.isBytes))
        return { described, verbs: verbsOf(table, described.codecs) }
      },
      commit: () => transaction.commit(handle),
      hasConflict: () => transaction.hasConflict(handle),
      end() {
        forgotten.unregister(access)
        free(opened)
      },
    }
    forgotten.register(access, opened, access)
    return access
  }
  return transact(store, begin, run, tracker, identify)
}
