// Tables whose pairs expire, and how a table of either kind is opened.

import { KEY } from './crossing.js'
import { describe, takeNames } from './named.js'
import { native } from './native.js'
import { INTERNAL } from './shared/internal.js'
import { readCount } from './shared/options.js'
import { readTtl } from './shared/times.js'
import { inside, Table } from './table.js'

const verbs = native.expiring

export class ExpiringTable extends Table {
  ttl(key) {
    const { handle, keys } = inside(this)
    return verbs.ttl(handle, keys.cross(keys.toItem(key, 'key'), KEY))
  }

  touch(key, ttl) {
    const [lifetime, { handle, keys }] = [readTtl(ttl), inside(this)]
    return verbs.touch(handle, keys.cross(keys.toItem(key, 'key'), KEY), lifetime)
  }

  removeExpired(limit = Number.MAX_SAFE_INTEGER) {
    return verbs.removeExpired(inside(this).handle, readCount(limit, 'a limit'))
  }
}

/** The table that the native half has opened by this number, with the codecs that were named. */
export function openTable(store, name, named, handle, more) {
  const names = takeNames()
  const { see, free } = native[names.kind]
  try {
    const described = describe(name, named, names)
    const { keys, values } = described.codecs
    see(handle, Number(keys.isBytes), Number(values.isBytes))
    const Kind = described.expires ? ExpiringTable : Table
    return new Kind(INTERNAL, store, { ...described, ...more }, handle)
  } catch (error) {
    free(handle)
    throw error
  }
}
