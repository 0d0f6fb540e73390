// Transactions.

import { BLOCK_BYTES, Block } from './blocks.js'
import { placed } from './codecs.js'
import { ABSENT } from './core.js'
import { FOREVER, readLeft, tickingOf } from './expiring.js'
import { putRange, rawKeys } from './iterators.js'
import { runTransaction as refuse } from './leftout.js'
import { openNamed, readNamed } from './named.js'
import { like, readAmount } from './shared/amounts.js'
import { readCodecs, text } from './shared/codecs.js'
import { makeError } from './shared/errors.js'
import { EXCLUDED } from './shared/options.js'
import { transact } from './shared/transaction.js'
import { putSwap } from './table.js'

/** The verbs of a table, of a transaction or not, on items. */
function verbsOf(given, table, { codecs: { keys, values }, expires }) {
  const core = expires ? tickingOf(given) : given
  const { exports } = core
  /** The time to live that the module has for this handle. */
  let lifetime = FOREVER
  const live = (ttl = FOREVER) => {
    if (ttl !== lifetime) core.status(exports.twindex_set_ttl(table, ttl))
    lifetime = ttl
  }
  const put = (item) => {
    const length = keys.write(core, 0, item, 'key') // which may move the input buffer
    return [core.input, length]
  }
  const writes = [exports.twindex_insert, exports.twindex_replace, exports.twindex_upsert]
  const verbs = {
    select(item) {
      if (core.status(exports.twindex_select(table, ...put(item))) === 0) return undefined
      return values.keep(core.bytes, core.answerAt, core.answerLength, 'value')
    },
    write(verb, item, value, ttl) {
      live(ttl)
      const k = keys.write(core, 0, item, 'key')
      const v = values.write(core, k, value, 'value')
      return core.status(writes[verb](table, core.input, k, core.input + k, v)) === 1
    },
    delete: (item) => core.status(exports.twindex_delete(table, ...put(item))) === 1,
    increment(item, by, ttl) {
      live(ttl)
      const amount = readAmount(by)
      core.status(exports.twindex_increment(table, ...put(item), amount))
      return like(by, core.answerInteger)
    },
    range(range, limit, isDown) {
      const rows = []
      for (let rest = range; ; ) {
        const count = Math.min(limit - rows.length, 0xffff_ffff)
        core.status(exports.twindex_scan(table, ...putRange(core, keys, rest), isDown, count, BLOCK_BYTES))
        const block = new Block(core)
        if (block.isEmpty) return rows
        while (!block.isEmpty) rows.push(block.row({ keys, values }))
        const past = [EXCLUDED, block.lastKey, rawKeys]
        rest = { ...rest, [isDown ? 'upper' : 'lower']: past }
      }
    },
  }
  if (!expires) return verbs
  return {
    ...verbs,
    ttl: (item) => readLeft(core, core.status(exports.twindex_ttl(table, ...put(item)))),
    touch: (item, ttl = FOREVER) => core.status(exports.twindex_touch(table, ...put(item), ttl)) === 1,
    swap(item, seen, next) {
      live()
      return (
        core.status(
          exports.twindex_compare_and_swap(table, ...putSwap(core, { keys, values }, item, seen, next)),
        ) === 1
      )
    },
  }
}

/** Runs a transaction of the store that has this handle. */
export function runTransaction(core, store, storeHandle, run) {
  if (core.exports.twindex_begin === undefined) refuse()
  return transact(store, () => begin(core, storeHandle), run)
}

/** Begins a transaction: what `Transaction` needs of it, and its handle. */
export function begin(core, storeHandle) {
  const handle = core.status(core.exports.twindex_begin(storeHandle))
  let isConflict = false
  /** Remembers a conflict that a function may have caught. */
  const noting =
    (work) =>
    (...given) => {
      try {
        return work(...given)
      } catch (error) {
        isConflict ||= error.code === 'TWINDEX_CONFLICT'
        throw error
      }
    }
  const access = {
    handle,
    open: (name, options) => {
      const { handle: table, described } = openNamed(core, handle, name, readNamed(name, options), false)
      const verbs = Object.entries(verbsOf(core, table, described))
      return {
        described,
        verbs: Object.fromEntries(verbs.map(([name, verb]) => [name, noting(verb)])),
      }
    },
    commit() {
      core.tick()
      core.status(core.exports.twindex_commit(handle))
    },
    hasConflict: () => isConflict,
    end() {
      core.forgotten.unregister(access)
      core.exports.twindex_close(handle)
    },
  }
  core.forgotten.register(access, handle, access)
  return access
}

const ANY = readNamed('', { keys: 'bytes', values: 'bytes' })
const RAW = readCodecs({ keys: 'view', values: 'view' })
const PLACED = [placed(text), placed(RAW.keys)]

/** The verbs of the table of this name, on items that are bytes or text. `owner` is a store or a transaction, `codecs` the names of both. */
export function openRaw(core, owner, name, [hasByteKeys, hasByteValues, ...codecs]) {
  const { handle, described } = openNamed(core, owner, name, ANY, false)
  if (`${described.names}` !== `${codecs}`) {
    core.exports.twindex_close(handle)
    throw makeError(
      'TWINDEX_TABLE_DROPPED',
      `table "${name}" was dropped, and is another one with other codecs`,
    )
  }
  const raw = { keys: PLACED[+hasByteKeys], values: PLACED[+hasByteValues] }
  const verbs = verbsOf(core, handle, { codecs: raw })
  return { ...verbs, isThere: () => probe(core, handle) >= 0 }
}

/** The status of a write that changes nothing: an error where the table was dropped. */
export const probe = ({ exports, input }, handle) =>
  exports.twindex_compare_and_swap(handle, input, 0, input, ABSENT, input, ABSENT)
