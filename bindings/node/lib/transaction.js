// Transactions.

import { accessOf } from './access.js'
import { takePairs } from './block.js'
import { KEY, VALUE } from './crossing.js'
import { crossRange, describe, readNamed } from './named.js'
import { native } from './native.js'
import { transact } from './shared/transaction.js'
import { tracking } from './tasks.js'
import { DOWN, UP } from './walk.js'

const { transaction } = native

/** For those of functions that never end. */
const forgotten = new FinalizationRegistry(transaction.free)

const tracker = tracking()
const WRITES = [transaction.insert, transaction.replace, transaction.upsert]

function verbsOf(handle, table, codecs) {
  const { keys, values } = codecs
  const cross = (item) => keys.cross(item, KEY)
  const { keep, swap } = accessOf(handle, codecs, {
    select: (_, key) => transaction.select(handle, table, key),
    swap: (_, ...given) => transaction.swap(handle, table, ...given),
  })
  return {
    select: keep,
    swap,
    write: (verb, item, value, ttl) =>
      WRITES[verb](handle, table, cross(item), values.cross(value, VALUE), ttl),
    delete: (item) => transaction.delete(handle, table, cross(item)),
    increment: (item, by, ttl) => transaction.increment(handle, table, cross(item), by, ttl),
    ttl: (item) => transaction.ttl(handle, table, cross(item)),
    touch: (item, ttl) => transaction.touch(handle, table, cross(item), ttl),
    range(range, limit, isDown) {
      const { from, low, to, high } = crossRange(range, keys)
      transaction.range(handle, table, isDown ? DOWN : UP, limit, from, low, to, high)
      return takePairs(codecs)
    },
  }
}

export function runTransaction(store, storeHandle, run, identify) {
  const begin = () => {
    const handle = transaction.begin(storeHandle)
    const access = {
      open(name, options) {
        const { named, asked } = readNamed(name, options)
        const table = transaction.open(handle, ...asked)
        const described = describe(name, named)
        const { keys, values } = described.codecs
        transaction.see(handle, table, Number(keys.isBytes), Number(values.isBytes))
        return { described, verbs: verbsOf(handle, table, described.codecs) }
      },
      commit: () => transaction.commit(handle),
      hasConflict: () => transaction.hasConflict(handle),
      end() {
        forgotten.unregister(access)
        transaction.free(handle)
      },
    }
    forgotten.register(access, handle, access)
    return access
  }
  return transact(store, begin, run, tracker, identify)
}
