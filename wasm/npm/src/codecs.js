// How JavaScript sees bytes: the encodings of keys and values.
//
// Each turns a value of the user's into an item, which is a string or a Uint8Array, and back. Code of the user's runs
// in `toItem`, `show` and `read` alone, so nothing can come between the writing of two items into the one input buffer.
//
//   toItem(value, what)                   the item, or a type error
//   own(item)                             the item where the user cannot change it
//   write(core, offset, item, what)       writes it into the input buffer: its length
//   keep(bytes, at, length, what)         the item that these bytes are, as a copy
//   show(item)                            the item as the user sees it
//   read(bytes, at, length, what)         both in one
//
// Of keys also, where the keys of a prefix are not what begins with its bytes: `endOfPrefix(item)`, and `hasPrefixes`, false for none.

import { describe, encodingError, rangeError, typeError } from './errors.js'
import { bigintKey, bigintValue, intKey, intValue } from './integers.js'
import { readText, writeText } from './text.js'
import { endOfPrefix, tupleKey } from './tuple.js'
import { viewBytes, writeBytes } from './views.js'

const isNone = (value) => value === undefined || value === null
const same = (value) => value

const utf8 = {
  toItem(value, what) {
    if (typeof value !== 'string') throw typeError(`a ${what} of this table is a string`, value)
    return value
  },
  own: same,
  write: writeText,
  keep: readText,
  show: same,
  read: readText,
  isNone,
  isEqual: (item, other) => item === other,
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw Object.assign(encodingError(`a value is not JSON: ${cause.message}`), { cause })
  }
}

function stringify(value, what) {
  let text
  let cause
  try {
    text = JSON.stringify(value)
  } catch (error) {
    cause = error
  }
  if (text !== undefined) return text
  throw Object.assign(typeError(`a ${what} of this table is what JSON can say`, value), cause && { cause })
}

/** A codec whose items are what another one sees. */
const derive = (base, { encode, decode }) => ({
  ...base,
  toItem: (value, what) => base.toItem(encode(value, what), what),
  show: (item) => decode(base.show(item)),
  read: (...place) => decode(base.read(...place)),
})

const isUndefined = (value) => value === undefined

/** Not by `slice`, which on a Buffer shares memory. */
const copy = (bytes) => new Uint8Array(bytes)

/** A copy of some of the package's own bytes. */
const slice = (bytes, at, length) => bytes.slice(at, at + length)

/** Bytes, of which the user gets a copy. */
function bytesCodec(give, read = (bytes, at, length) => give(bytes.subarray(at, at + length))) {
  return {
    toItem: viewBytes,
    own: copy,
    write: writeBytes,
    keep: slice,
    show: give,
    read,
    isNone,
    isEqual: (item, other) =>
      item?.length === other?.length && (item?.every((byte, at) => byte === other[at]) ?? true),
  }
}

const { Buffer } = globalThis
const view = bytesCodec(copy, slice)

/** Only where there is a Buffer, there is its encoding. */
const formats = { __proto__: null, utf8, ...(Buffer && { buffer: bytesCodec(Buffer.from) }), view }
const keyCodecs = {
  __proto__: null,
  ...formats,
  int: { ...derive(view, intKey), hasPrefixes: false },
  bigint: { ...derive(view, bigintKey), hasPrefixes: false },
  tuple: { ...derive(view, tupleKey), endOfPrefix },
}
const valueCodecs = {
  __proto__: null,
  ...formats,
  // What JSON can say, where `null` is a value like any other.
  json: { ...derive(utf8, { encode: stringify, decode: parse }), isNone: isUndefined },
  int: derive(utf8, intValue),
  bigint: derive(utf8, bigintValue),
}

/** A codec of the user's: two functions, and what they make and take. */
function custom({ encode, decode, format = 'view' }, what) {
  if (typeof encode !== 'function' || typeof decode !== 'function') {
    throw typeError(`an encoding of ${what} has the functions encode and decode`, encode ?? decode)
  }
  const base = pick(formats, format, 'format of an encoding')
  return {
    ...derive(base, { decode: (seen) => decode(seen) }),
    isNone: isUndefined,
    // Their code may encode each thing into the same buffer.
    toItem: (value, what) => base.own(base.toItem(encode(value), what)),
  }
}

function pick(codecs, name, what) {
  const codec = codecs[name]
  if (codec !== undefined) return codec
  throw rangeError(`unknown ${what} ${describe(name)}, it is ${Object.keys(codecs).join(', ')}`)
}

function find(codecs, encoding, what) {
  if (encoding !== null && typeof encoding === 'object') return custom(encoding, what)
  if (typeof encoding !== 'string')
    throw typeError(`the encoding of ${what} is its name, or an object`, encoding)
  return pick(codecs, encoding, `encoding of ${what}`)
}

export const keyCodec = (encoding) => find(keyCodecs, encoding, 'keys')
export const valueCodec = (encoding) => find(valueCodecs, encoding, 'values')
