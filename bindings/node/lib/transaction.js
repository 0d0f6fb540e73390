// Transactions.

import { accessOf } from './access.js'
import { takePairs } from './block.js'
import { KEY, VALUE } from './crossing.js'
import { crossRange, describe, readNamed } from './named.js'
import { native } from './native.js'
import { transact } from './shared/transaction.js'
import { tracking } from './tasks.js'
import { DOWN, UP } from './walk.js'

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
