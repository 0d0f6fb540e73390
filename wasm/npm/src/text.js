// Strings to UTF-8 and back. Short ASCII, which most keys are, goes byte by byte, without a call of the platform.

import { excerpt, makeError } from './errors.js'

const SHORT = 40
/** From here on the exact length is worth an array of its own, since it may be a third of what has to be there. */
const LONG = 64 * 1024

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Writes a string into the input buffer: its length in bytes. */
export function writeText(core, offset, text, what) {
  const { length } = text
  if (length > LONG) return writeLong(core, offset, text, what)
  core.room(offset, length * 3)
  if (length <= SHORT) {
    const { bytes } = core
    const start = core.input + offset
    let at = 0
    for (; at < length; at++) {
      const code = text.charCodeAt(at)
      if (code > 127) break
      bytes[start + at] = code
    }
    if (at === length) return length
  }
  return encode(core, offset, text, what)
}

function encode(core, offset, text, what) {
  const start = core.input + offset
  const { written } = encoder.encodeInto(text, core.bytes.subarray(start, start + text.length * 3))
  checkWellFormed(text, written, what)
  return written
}

function writeLong(core, offset, text, what) {
  const encoded = encoder.encode(text)
  checkWellFormed(text, encoded.length, what)
  core.room(offset, encoded.length)
  core.bytes.set(encoded, core.input + offset)
  return encoded.length
}

/** The encoder replaces a lone surrogate, by three bytes, where nothing is to be lost silently. */
function checkWellFormed(text, written, what) {
  if (written === text.length || isWellFormed(text)) return
  throw makeError('TWINDEX_TYPE', `a ${what} has a lone surrogate, so it has no UTF-8`)
}

const isWellFormed = String.prototype.isWellFormed
  ? (text) => text.isWellFormed()
  : (text) => !/\p{Surrogate}/u.test(text)

/** The string that these bytes are. */
export function readText(bytes, start, length, what) {
  const end = start + length
  if (length > SHORT) return decode(bytes.subarray(start, end), what)
  const { fromCharCode } = String
  let text = ''
  let seen = 0
  let at = start
  for (; at + 8 <= end; at += 8) {
    const a = bytes[at]
    const b = bytes[at + 1]
    const c = bytes[at + 2]
    const d = bytes[at + 3]
    const e = bytes[at + 4]
    const f = bytes[at + 5]
    const g = bytes[at + 6]
    const h = bytes[at + 7]
    seen |= a | b | c | d | e | f | g | h
    text += fromCharCode(a, b, c, d, e, f, g, h)
  }
  for (; at < end; at++) {
    seen |= bytes[at]
    text += fromCharCode(bytes[at])
  }
  return seen < 128 ? text : decode(bytes.subarray(start, end), what)
}

function decode(bytes, what) {
  try {
    return decoder.decode(bytes)
  } catch {
    throw makeError('TWINDEX_ENCODING', `a ${what} is not UTF-8: it begins with "${excerpt(bytes)}"`)
  }
}
