// Tables by name, as the module takes and gives them.

import { Block } from './blocks.js'
import { placed } from './codecs.js'
import { DEFAULT_CODEC, readCodecs, rememberedCodecs, text } from './shared/codecs.js'
import { readBoolean, readString } from './shared/options.js'
import { PAIRS } from './shared/table.js'
import { putTexts } from './text.js'

/** The options of `twindex_table_with`. */
const CREATE = 1
const KEYS_IF_NEW = 2
const VALUES_IF_NEW = 4
const INDEX_IF_NEW = 8
const EXPIRES = 16
const STAYS = 32

/** How names are read. */
export const names = { keys: placed(text), values: placed(text) }

/** What the options of a table name. */
export function readNamed(name, { index, keys, values, expires }) {
  readString(name, "a table's name")
  if (index !== undefined) readString(index, 'an index')
  if (expires !== undefined) readBoolean(expires, 'expires')
  return { index, ...readCodecs({ keys, values }), expires }
}

/** Opens a table of a store, a snapshot or a transaction: its handle, and what it is. */
export function openNamed(core, owner, name, named, create) {
  const { index, keys, values, expires } = named
  core.seed()
  core.tick()
  const places = putTexts(core, {
    "table's name": name,
    "index's name": index ?? 'hash',
    'codec of the keys': keys?.name ?? DEFAULT_CODEC,
    'codec of the values': values?.name ?? DEFAULT_CODEC,
  })
  const unnamed = (given, bit) => (given === undefined ? bit : 0)
  const bits =
    (create ? CREATE : 0) |
    unnamed(keys, KEYS_IF_NEW) |
    unnamed(values, VALUES_IF_NEW) |
    unnamed(index, INDEX_IF_NEW) |
    (expires === undefined ? 0 : expires ? EXPIRES : STAYS)
  const { twindex_table_with, twindex_codecs, twindex_is_sorted, twindex_expires, twindex_close } =
    core.exports
  const handle = core.status(twindex_table_with(owner, ...places, bits))
  try {
    core.status(twindex_codecs(handle))
    const remembered = new Block(core).pair(names, PAIRS)
    const codecs = rememberedCodecs(name, { keys, values }, remembered)
    const described = {
      name,
      index: core.status(twindex_is_sorted(handle)) === 1 ? 'sorted' : 'hash',
      expires: twindex_expires !== undefined && core.status(twindex_expires(handle)) === 1,
      names: remembered,
      codecs: { keys: placed(codecs.keys), values: placed(codecs.values) },
    }
    return { handle, described }
  } catch (error) {
    twindex_close(handle)
    throw error
  }
}

/** The names and indexes of the tables of a store or a snapshot. */
export function tablesOf(core, owner) {
  core.status(core.exports.twindex_tables(owner))
  const block = new Block(core)
  return Array.from({ length: core.answerCount }, () => block.pair(names, PAIRS))
}
