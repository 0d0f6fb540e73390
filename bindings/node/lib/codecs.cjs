'use strict'
// How JavaScript sees bytes: the encodings of keys and values.
//
// Each codec turns a value of the user's into an item (`pack`) and back (`unpack`). An item is a string, which crosses
// the border as it is, or a Uint8Array, of which `own` and `keep` make a copy that nobody else has. A short array crosses through a buffer that the native half sees too, because
// asking a fresh small array for its own memory costs twenty times as much.

const native = require('./native.cjs')
const { makeError, typeError } = require('./errors.cjs')

/** The regions of the crossing buffer, as in src/crossing.rs. */
const KEY = 0
const VALUE = 1
const EXPECTED = 2
const REGION_BYTES = 4096

const crossing = native.prepare(makeError)
const regions = [KEY, VALUE, EXPECTED].map(
  (region) => new Uint8Array(crossing, region * REGION_BYTES, REGION_BYTES),
)

/** The bytes of any view, without copying them. */
function viewBytes(value, what) {
  if (value instanceof Uint8Array) return value
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  throw typeError(`a ${what} of this table is a Uint8Array or another view of bytes`, value)
}

/** The same bytes where no other thread can change them. */
function ownBytes(bytes) {
  return bytes.buffer instanceof ArrayBuffer ? bytes : new Uint8Array(bytes)
}

/** An item on its way into the native half. */
function cross(item, region) {
  if (item.length > REGION_BYTES) return ownBytes(item)
  regions[region].set(item)
  return item.length
}

/** An item on its way out of the native half: a length in the crossing buffer, or a Buffer where it is longer. */
function uncross(raw, region) {
  return typeof raw === 'number' ? regions[region].subarray(0, raw) : raw
}

function copyToBuffer(bytes) {
  const copy = Buffer.allocUnsafe(bytes.length)
  copy.set(bytes)
  return copy
}

const same = (value) => value

/** JavaScript strings. The native half checks that they are strings. */
const utf8 = {
  isBytes: false,
  encode: same,
  decode: same,
  pack: same,
  own: same,
  cross: same,
  keep: same,
  unpack: same,
  isNone: (value) => value === undefined || value === null,
  isEqual: (item, other) => item === other,
}

function parse(text) {
  if (text === undefined) return undefined
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

/** What JSON can say, as JSON text. `null` is a value like any other. */
const json = {
  ...utf8,
  encode: (value, _region, what) => stringify(value, what),
  decode: parse,
  pack: stringify,
  unpack: parse,
  isNone: (value) => value === undefined,
}

function isEqualBytes(item, other) {
  return item !== undefined && other !== undefined && Buffer.compare(item, other) === 0
}

/** Bytes, which `copy` gives to the user. */
function bytesCodec(copy) {
  return {
    isBytes: true,
    encode: (value, region, what) => cross(viewBytes(value, what), region),
    decode: (raw, region) => (raw === undefined ? undefined : copy(uncross(raw, region))),
    pack: viewBytes,
    own: (item) => new Uint8Array(item),
    cross,
    keep: (raw, region) => (raw === undefined ? undefined : uncross(raw, region).slice()),
    unpack: (item) => (item === undefined ? undefined : copy(item)),
    isNone: utf8.isNone,
    isEqual: isEqualBytes,
  }
}

const buffer = bytesCodec(copyToBuffer)
// Not `slice`, which on a Buffer shares memory.
const view = bytesCodec((bytes) => new Uint8Array(bytes))

const keyCodecs = { __proto__: null, utf8, buffer, view }
const valueCodecs = { __proto__: null, utf8, buffer, view, json }

module.exports = { KEY, VALUE, EXPECTED, keyCodecs, valueCodecs, viewBytes, ownBytes }
