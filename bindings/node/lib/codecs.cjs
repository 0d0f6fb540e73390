'use strict'
// How JavaScript sees bytes: the encodings of keys and values.
//
// An item is a string, which crosses the border as it is, or a Uint8Array. A short array crosses through a buffer that
// the native half sees too, because asking a fresh small array for its own memory costs twenty times as much. Code of
// the user's may run in `pack`, `decode` and `unpack` alone, so nothing comes between the crossing of two items.
//
//   pack(value, what)     the item, or an error
//   own(item)             the item where nobody else can change it
//   cross(item, region)   the argument that passes it into the native half
//   keep(raw, region)     the item that the native half returned, as a copy
//   unpack(item)          the item as the user sees it
//   decode(raw, region)   both in one
//   isNone(value)         whether it stands for no value
//   isEqual(item, other)
//   isTheirs              whether code of the user's does run in these three
//
// Of keys also, where it is not what the bytes begin with: `endOfPrefix(item)`, and `hasPrefixes`, false for none.

const { REGION_BYTES, regions } = require('./crossing.cjs')
const { makeError, typeError, rangeError, describe } = require('./errors.cjs')
const { intKey, bigintKey, intValue, bigintValue } = require('./integers.cjs')
const { tupleKey } = require('./tuple.cjs')
const { lengthOf, ownBytes, viewBytes } = require('./views.cjs')

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

function copyToBuffer(bytes) {
  const copy = Buffer.allocUnsafe(bytes.length)
  copy.set(bytes)
  return copy
}

const same = (value) => value
const isNothing = (value) => value === undefined || value === null
const isUndefined = (value) => value === undefined

/** JavaScript strings. The native half checks that they are strings. */
const utf8 = {
  isBytes: false,
  pack: same,
  own: same,
  cross: same,
  keep: same,
  unpack: same,
  decode: same,
  isNone: isNothing,
  isEqual: (item, other) => item === other,
}

function isEqualBytes(item, other) {
  return item !== undefined && other !== undefined && Buffer.compare(item, other) === 0
}

/** Bytes, which `show` gives to the user. */
function bytesCodec(show) {
  return {
    isBytes: true,
    pack: viewBytes,
    own: (item) => new Uint8Array(item),
    cross: crossBytes,
    keep: (raw, region) => (raw === undefined ? undefined : uncross(raw, region).slice()),
    unpack: (item) => (item === undefined ? undefined : show(item)),
    decode: (raw, region) => (raw === undefined ? undefined : show(uncross(raw, region))),
    isNone: isNothing,
    isEqual: isEqualBytes,
  }
}

const buffer = bytesCodec(copyToBuffer)
// Not `slice`, which on a Buffer shares memory.
const view = bytesCodec((bytes) => new Uint8Array(bytes))
/** For codecs that do not keep the bytes. */
const borrowed = bytesCodec(same)

/** A codec whose items are what another one sees. */
function derive(base, { encode, decode }, isNone = isNothing) {
  const show = (seen) => (seen === undefined ? undefined : decode(seen))
  return {
    ...base,
    pack: (value, what) => base.pack(encode(value, what), what),
    unpack: (item) => show(base.unpack(item)),
    decode: (raw, region) => show(base.decode(raw, region)),
    isNone,
  }
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw Object.assign(makeError('TWINDEX_ENCODING', `a value is not JSON: ${cause.message}`), { cause })
  }
}

function stringify(value, what) {
  let text
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw Object.assign(typeError(`a ${what} of this table is what JSON can say`, value), { cause })
  }
  if (text === undefined) throw typeError(`a ${what} of this table is what JSON can say`, value)
  return text
}

const keyCodecs = {
  __proto__: null,
  utf8,
  buffer,
  view,
  int: { ...derive(borrowed, intKey), hasPrefixes: false },
  bigint: { ...derive(borrowed, bigintKey), hasPrefixes: false },
  tuple: { ...derive(borrowed, tupleKey), endOfPrefix: tupleKey.endOfPrefix },
}

const valueCodecs = {
  __proto__: null,
  utf8,
  buffer,
  view,
  // What JSON can say, where `null` is a value like any other.
  json: derive(utf8, { encode: stringify, decode: parse }, isUndefined),
  int: derive(utf8, intValue),
  bigint: derive(utf8, bigintValue),
}

const FORMATS = { __proto__: null, utf8, buffer, view }

/** A codec of the user's: two functions, and what they make and take. */
function customCodec({ encode, decode, format = 'view' }, what) {
  if (typeof encode !== 'function' || typeof decode !== 'function') {
    throw typeError(`an encoding of ${what} has the functions encode and decode`, encode ?? decode)
  }
  const base = FORMATS[format]
  if (base === undefined) {
    throw rangeError(
      `unknown format ${describe(format)} of an encoding, it is ${Object.keys(FORMATS).join(', ')}`,
    )
  }
  const custom = { encode: (value) => encode(value), decode: (seen) => decode(seen) }
  const codec = derive(base, custom, isUndefined)
  // Their code may encode each thing into the same buffer.
  return { ...codec, pack: (value, what) => base.own(codec.pack(value, what)), isTheirs: true }
}

function findCodec(codecs, encoding, what) {
  if (encoding !== null && typeof encoding === 'object') return customCodec(encoding, what)
  if (typeof encoding !== 'string')
    throw typeError(`the encoding of ${what} is its name, or an object`, encoding)
  const codec = codecs[encoding]
  if (codec !== undefined) return codec
  throw rangeError(
    `unknown encoding ${describe(encoding)} of ${what}, it is ${Object.keys(codecs).join(', ')}`,
  )
}

const keyCodec = (encoding) => findCodec(keyCodecs, encoding, 'keys')
const valueCodec = (encoding) => findCodec(valueCodecs, encoding, 'values')

module.exports = { utf8, keyCodec, valueCodec }
