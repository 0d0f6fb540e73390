// Strings as UTF-8. Short ASCII, which most keys are, goes byte by byte, without a call of the platform.

import { encodingError, notOf } from './errors.js'

/** A call of the platform takes as long as so many characters, or as more where it needs a view made for it. */
const [SHORT_IN, SHORT_IN_VIEW] = [24, 40]
/** In Node 20 a text of 6 bytes comes out in 25 ns, of 16 in 42, of 32 in 70; the platform's decoder takes 70 for each. */
const SHORT_OUT = 28

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export const isWellFormed = String.prototype.isWellFormed
  ? (text) => text.isWellFormed()
  : (text) => !/\p{Surrogate}/u.test(text)

/** The encoder replaces a lone surrogate, by three bytes, where nothing is to be lost silently. */
function checkWellFormed(text, written, what) {
  if (written === text.length || isWellFormed(text)) return
  throw encodingError(`a ${what} with a lone surrogate has no form in UTF-8`)
}

/** Writes a string, for which there is room of three bytes a unit: how many bytes it has. */
export function writeText(bytes, start, text, what) {
  const { length } = text
  if (length <= (start === 0 ? SHORT_IN : SHORT_IN_VIEW)) {
    let at = 0
    for (; at < length; at++) {
      const unit = text.charCodeAt(at)
      if (unit > 127) break
      bytes[start + at] = unit
    }
    if (at === length) return length
  }
  const { written } = encoder.encodeInto(text, start === 0 ? bytes : bytes.subarray(start))
  checkWellFormed(text, written, what)
  return written
}

/** A string's bytes. */
export function encodeText(text, what) {
  const encoded = encoder.encode(text)
  checkWellFormed(text, encoded.length, what)
  return encoded
}

/** Room for the codes of short texts, one of every length. */
const codesOf = Array.from({ length: SHORT_OUT + 1 }, (_, length) => new Array(length).fill(0))

/** The string that these bytes are. */
export function readText(bytes, start, length, what) {
  if (length <= SHORT_OUT) {
    const codes = codesOf[length]
    let seen = 0
    for (let at = 0; at < length; at++) {
      const byte = bytes[start + at]
      codes[at] = byte
      seen |= byte
    }
    if (seen < 128) return String.fromCharCode(...codes)
  }
  return decodeText(bytes.subarray(start, start + length), what)
}

function decodeText(bytes, what) {
  try {
    return decoder.decode(bytes)
  } catch {
    throw notOf('UTF-8', what, bytes)
  }
}
