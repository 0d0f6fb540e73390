// How the verbs that a program's code is part of reach a table or a cache: see shared/table.js.

import { EXPECTED, KEY, VALUE } from './crossing.js'

/** `select`, `swap` and `keep`, which is how a change reads, are the native half's. */
export const accessOf = (handle, { keys, values }, { select, swap, keep = select }) => ({
  of: (key) => keys.own(keys.toItem(key, 'key')),
  select: (item) => values.read(select(handle, keys.cross(item, KEY)), VALUE),
  keep: (item) => values.keep(keep(handle, keys.cross(item, KEY)), VALUE),
  swap(item, seen, next) {
    const cross = (given, region) => (given === undefined ? undefined : values.cross(given, region))
    const expected = cross(seen, EXPECTED)
    return swap(handle, keys.cross(item, KEY), expected, cross(next, VALUE))
  },
})
