'use strict'
// Strings as UTF-8 inside of other bytes.

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Strings of so few units are quicker written one by one. */
const SHORT = 40

/** Writes a string, for which there is room of three bytes a unit: where it ends. `undefined` for a lone surrogate. */
function writeText(bytes, start, text) {
  const { length } = text
  if (length <= SHORT) {
    let at = 0
    for (; at < length; at++) {
      const unit = text.charCodeAt(at)
      if (unit > 127) break
      bytes[start + at] = unit
    }
    if (at === length) return start + length
  }
  if (!text.isWellFormed()) return undefined
  return start + encoder.encodeInto(text, bytes.subarray(start)).written
}

/** The string that these bytes are; `undefined` where they are not UTF-8. */
function readText(bytes) {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

module.exports = { writeText, readText }
