// Tables by name, and ranges, as the native half takes and gives them.

import { takeAll } from './block.js'
import { crossing, utf8 } from './codecs.js'
import { KEY, VALUE } from './crossing.js'
import { readCodecs, rememberedCodecs } from './shared/codecs.js'
import { NONE, PREFIX, readBoolean, readString } from './shared/options.js'
import { wrongExpiry } from './shared/snapshot.js'

/** What the native half is asked for a table: its name, and what the options name. */
export function readNamed(name, { index, keys, values, expires }) {
  readString(name, "a table's name")
  if (index !== undefined) readString(index, 'an index')
  if (expires !== undefined) readBoolean(expires, 'expires')
  const named = { ...readCodecs({ keys, values }), expires }
  return { named, asked: [name, index, named.keys?.name, named.values?.name] }
}

/** What the native half leaves of a table that it has opened. `native[kind]` has its verbs. */
export function takeNames() {
  const [keyName, valueName, index, kind] = takeAll(utf8)
  return { keyName, valueName, index, kind }
}

/** The same, with the table's codecs or those that were named. */
export function describe(name, named, { keyName, valueName, index, kind } = takeNames()) {
  const names = [keyName, valueName]
  const { keys, values } = rememberedCodecs(name, named, names)
  const expires = kind === 'expiring'
  if (named.expires !== undefined && named.expires !== expires) throw wrongExpiry(name, expires)
  return { name, index, kind, expires, names, codecs: { keys: crossing(keys), values: crossing(values) } }
}

/** A range as the native half takes it. */
export function crossRange({ lower: [from, low], upper: [to, high] }, codec) {
  // The native half finds both ends of a prefix by the lower one.
  const isUpper = to !== NONE && !(from === PREFIX && to === PREFIX)
  return {
    from,
    low: from === NONE ? undefined : codec.cross(low, KEY),
    to: isUpper ? to : NONE,
    high: isUpper ? codec.cross(high, VALUE) : undefined,
  }
}
