// How the items of codecs cross the border.
//
// A string crosses as it is. A short array crosses through a buffer that the native half sees too, because asking a fresh
// small array for its own memory costs twenty times as much. To what shared/codecs.js says of a codec this adds:
//
//   cross(item, region)   the argument that passes it into the native half
//   keep(raw, region)     the item that the native half returned, as a copy
//   read(raw, region)     what it returned, as the user sees it

import { EXPECTED, KEY, REGION_BYTES, regions, VALUE } from './crossing.js'
import { text as str } from './shared/codecs.js'
import { lengthOf, ownBytes } from './shared/views.js'

/** Bytes on their way into the native half. */
function crossBytes(item, region) {
  const length = lengthOf(item)
  if (length > REGION_BYTES) return ownBytes(item)
  regions[region].set(item)
  return length
}

/** Bytes on their way out of the native half: a length in the crossing buffer, or a Buffer where it is longer. */
function uncross(raw, region) {
  return typeof raw === 'number' ? regions[region].subarray(0, raw) : raw
}

const same = (item) => item

/** What was made of each codec: a transaction opens its tables anew. */
const made = new WeakMap()

/** A codec whose items cross. */
export function crossing(codec) {
  if (codec === str) return utf8
  if (!made.has(codec)) made.set(codec, cross(codec))
  return made.get(codec)
}

function cross(codec) {
  const { isBytes, show } = codec
  return {
    ...codec,
    cross: isBytes ? crossBytes : same,
    keep: isBytes ? keepBytes : same,
    read: isBytes
      ? (raw, region) => (raw === undefined ? undefined : show(uncross(raw, region)))
      : (raw) => (raw === undefined ? undefined : show(raw)),
  }
}

function keepBytes(raw, region) {
  return raw === undefined ? undefined : uncross(raw, region).slice()
}

/** Strings, which need nothing done to them. */
export const utf8 = { ...str, cross: same, keep: same, read: same }

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
