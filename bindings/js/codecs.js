// Codecs: how JavaScript sees the bytes of keys and values. A table remembers the names of its two.
//
// An item is what crosses into the engine's half: a string, or a Uint8Array. Code of the user's may run in `toItem` and
// `show` alone, so nothing comes between the crossing of two items.
//
//   name                  what a table remembers
//   isBytes               whether items are bytes, and not strings
//   toItem(value, what)   the item, or an error
//   own(item)             the item where nobody else can change it
//   show(item)            the item as the user sees it; it may be memory that is used again
//   isNone(value)         whether it stands for no value
//   isEqual(item, other)
//   isDecimal             of values: whether they are text, which may be a decimal number
//   isTheirs              whether code of the user's does run in these
//   hasPrefixes           of keys: whether a range of them may be a prefix
//   endOfPrefix(item)     of keys where it is not what the bytes begin with: where a prefix ends

import { describe, makeError, rangeError, typeError } from './errors.js'
import { bigintKey, bigintValue, intKey, intValue } from './integers.js'
import { json } from './json.js'
import { msgpack } from './msgpack.js'
import { readString } from './options.js'
import { encodeText } from './text.js'
import { tupleKey } from './tuple.js'
import { describeClass } from './values.js'
import { copyBytes, isEqualBytes, viewBytes } from './views.js'

const same = (value) => value
const isNothing = (value) => value === undefined || value === null
const isUndefined = (value) => value === undefined

const shared = {
  isNone: isNothing,
  isDecimal: true,
  isTheirs: false,
  hasPrefixes: true,
  endOfPrefix: undefined,
}

const HINTS = { key: "keys: 'int'", value: "values: 'json'" }

/** JavaScript strings, as UTF-8. */
const str = {
  ...shared,
  name: 'str',
  isBytes: false,
  toItem(value, what) {
    if (typeof value === 'string') return value
    throw typeError(`a ${what} is a string here (for others name a codec, as ${HINTS[what]})`, value)
  },
  own: same,
  show: same,
  isEqual: (item, other) => item === other,
}

/** Bytes, which `show` gives to the user. */
const bytesCodec = (show) => ({
  ...shared,
  name: 'bytes',
  isBytes: true,
  toItem: viewBytes,
  own: copyBytes,
  show,
  isEqual: isEqualBytes,
})

const { Buffer } = globalThis

function copyToBuffer(bytes) {
  const copy = Buffer.allocUnsafe(bytes.length)
  copy.set(bytes)
  return copy
}

/** A `Buffer` where there is one, as in Node. */
const bytes = bytesCodec(Buffer === undefined ? copyBytes : copyToBuffer)
const view = bytesCodec(copyBytes)
/** For codecs that do not keep the bytes. */
const borrowed = bytesCodec(same)

/** A codec whose items are what another one sees. */
const derive = (name, base, { encode, decode }, rest) => ({
  ...base,
  name,
  toItem: (value, what) => base.toItem(encode(value, what), what),
  show: (item) => decode(base.show(item)),
  ...rest,
})

const keyCodecs = {
  __proto__: null,
  bytes,
  str,
  int: derive('int', borrowed, intKey, { hasPrefixes: false }),
  tuple: derive('tuple', borrowed, tupleKey, { endOfPrefix: tupleKey.endOfPrefix }),
  bigint: derive('int', borrowed, bigintKey, { hasPrefixes: false }),
  view,
}

const valueCodecs = {
  __proto__: null,
  bytes,
  str,
  int: derive('int', str, intValue),
  // What these can say, where `null` is a value like any other.
  json: derive('json', str, json, { isNone: isUndefined }),
  msgpack: derive('msgpack', borrowed, msgpack, { isNone: isUndefined, isDecimal: false }),
  bigint: derive('int', str, bigintValue),
  view,
}

const FORMATS = { __proto__: null, str, bytes, view }
/** What the names of all languages' own codecs are, of which none may mean another thing. */
const TAKEN = [...new Set([...Object.keys(keyCodecs), ...Object.keys(valueCodecs), 'object', 'pickle'])]
const MOST_NAME_BYTES = 255

function readName(name) {
  if (name === undefined) {
    throw typeError('your codec must have a name, which the table remembers', name)
  }
  readString(name, "a codec's name")
  if (TAKEN.includes(name)) {
    throw rangeError(`your codec must not have the name of a codec of Twindex: ${describe(name)}`)
  }
  const { length } = encodeText(name, "codec's name")
  if (length > 0 && length <= MOST_NAME_BYTES) return name
  throw makeError(
    'TWINDEX_CODEC_NAME',
    `a codec name has 1 to ${MOST_NAME_BYTES} bytes, this one has ${length}`,
  )
}

/** Refuses what is still to come: an `encode` that makes JSON of a promise, for one, makes `{}` of it. */
function refuseThenable(value, what) {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return
  if (typeof value.then !== 'function') return
  throw makeError('TWINDEX_TYPE', `a ${what} must not have a method "then", as has ${describeClass(value)}`)
}

/** A codec of the user's: a name, two functions, and what they make and take. */
function customCodec({ name, encode, decode, format = 'view' }, what) {
  readName(name)
  if (typeof encode !== 'function' || typeof decode !== 'function') {
    throw typeError(`a codec of ${what} has the functions encode and decode`, encode ?? decode)
  }
  const base = FORMATS[format]
  if (base === undefined) {
    throw rangeError(
      `unknown format ${describe(format)} of a codec, it is ${Object.keys(FORMATS).join(', ')}`,
    )
  }
  const theirs = { encode: (value) => encode(value), decode: (seen) => decode(seen) }
  const codec = derive(name, base, theirs, { isNone: isUndefined, isDecimal: false, isTheirs: true })
  // Their code may encode each thing into the same buffer.
  const toItem = (value, what) => {
    refuseThenable(value, what)
    return base.own(codec.toItem(value, what))
  }
  return { ...codec, toItem }
}

function find(codecs, codec, what) {
  if (codec !== null && typeof codec === 'object') return customCodec(codec, what)
  if (typeof codec !== 'string') throw typeError(`the codec of ${what} is its name, or an object`, codec)
  if (codecs[codec] !== undefined) return codecs[codec]
  throw rangeError(`unknown codec ${describe(codec)} of ${what}, it is ${Object.keys(codecs).join(', ')}`)
}

/** The codecs that the options of a table name; `undefined` for those that they leave to the table. */
export function readCodecs({ keys, values }) {
  return {
    keys: keys === undefined ? undefined : find(keyCodecs, keys, 'keys'),
    values: values === undefined ? undefined : find(valueCodecs, values, 'values'),
  }
}

/** The names of a cache's codecs, as they are saved with it in every language: each behind its length. */
export function labelOf({ keys, values }) {
  const names = [keys, values].map((codec) => encodeText(codec?.name ?? DEFAULT_CODEC, 'codec'))
  return Uint8Array.from(names.flatMap((name) => [name.length, ...name]))
}

/** The two names in a label, or `bytes` where it is none: a program in Rust needs none. */
function namesOf(label) {
  const half = label.subarray(1, 1 + label[0])
  const rest = label.subarray(1 + half.length)
  if (label.length < 2 || rest.length !== 1 + rest[0]) return ['bytes', 'bytes']
  return [half, rest.subarray(1)].map((name) => new TextDecoder().decode(name))
}

/** A cache's codecs and their names, by its label. `bytes` and `view` show any. */
export function labelledCodecs(label, named) {
  const names = namesOf(label)
  for (const [at, of] of ['keys', 'values'].entries()) {
    const asked = named[of]?.name ?? 'bytes'
    if (asked === names[at] || asked === 'bytes') continue
    const message = `the ${of} of the cache have the codec "${names[at]}", not "${asked}"`
    throw makeError('TWINDEX_WRONG_CODEC', message)
  }
  return { names, ...codecsOf('the cache', named, names) }
}

/** The codecs that a table remembers, where the options named none. */
export const rememberedCodecs = (table, named, names) => codecsOf(`table "${table}"`, named, names)

const codecsOf = (what, { keys, values }, [keyName, valueName]) => ({
  keys: keys ?? remembered(keyCodecs, what, 'keys', keyName),
  values: values ?? remembered(valueCodecs, what, 'values', valueName),
})

function remembered(codecs, what, of, name) {
  if (codecs[name] !== undefined) return codecs[name]
  throw makeError(
    'TWINDEX_WRONG_CODEC',
    `the ${of} of ${what} have the codec "${name}", which is not one of this package: ` +
      `open it with your own codec of that name, or with "bytes"`,
  )
}

/** The codec of a new table or cache where none is named. */
export const DEFAULT_CODEC = 'str'
export const text = str
