// Keys and values as bytes, by the codecs of a table.

import { makeError } from './shared/errors.js'
import { EXCLUDED, INCLUDED, PREFIX } from './shared/options.js'
import { encodeText, readText } from './shared/text.js'
import { readTtl } from './shared/times.js'

/** The bytes of an item. */
const bytesOf = (codec, item, what) => (codec.isBytes ? item : encodeText(item, what))

/** The bytes of a key or a value, which nobody changes. */
export function encode(codec, value, what) {
  return bytesOf(codec, codec.own(codec.toItem(value, what)), what)
}

/** The bytes of a value, where it stands for one. */
export function encodeOptional(codec, value) {
  return codec.isNone(value) ? undefined : encode(codec, value, 'value')
}

/** The key or value that these bytes stand for. */
export function decode(codec, bytes, what, start = 0, end = bytes.length) {
  return codec.show(codec.isBytes ? bytes.subarray(start, end) : readText(bytes, start, end - start, what))
}

/** The value, where there is one. */
export const decodeOptional = (codec, bytes) =>
  bytes === undefined || bytes === null ? undefined : decode(codec, bytes, 'value')

/** Where the keys end that begin with these bytes: at the first one after all of them, if there is one. */
function afterPrefix(bytes) {
  let last = bytes.length - 1
  while (last >= 0 && bytes[last] === 0xff) last--
  if (last < 0) return { kind: 0 }
  const key = bytes.slice(0, last + 1)
  key[last]++
  return { kind: EXCLUDED, key }
}

/** A range, as the native half takes it. */
export function encodeRange(codec, { lower, upper }) {
  const end = ([kind, item]) => (item === undefined ? { kind } : { kind, key: bytesOf(codec, item, 'key') })
  if (lower[0] !== PREFIX) return [end(lower), end(upper)]
  const { key } = end(lower)
  return [{ kind: INCLUDED, key }, afterPrefix(new Uint8Array(key))]
}

/** A time to live as caches take it: `undefined` where the pair does not expire. */
export function readLife(ttl) {
  const time = readTtl(ttl ?? undefined)
  return time === Number.POSITIVE_INFINITY ? undefined : time
}

/** A time in milliseconds, or none. */
export function readTime(time, what) {
  if (time === undefined || time === null) return undefined
  if (typeof time !== 'number') throw makeError('TWINDEX_TYPE', `${what} is a number of milliseconds`, time)
  if (time > 0 && Number.isFinite(time)) return time
  throw makeError('TWINDEX_RANGE', `${what} is more than 0 milliseconds`, time)
}
