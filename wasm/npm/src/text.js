// Strings into the module's memory.

import { encodeText, writeText } from './shared/text.js'
import { lengthOf } from './shared/views.js'

/** From here on the exact length is worth an array of its own, since it may be a third of what has to be there. */
const LONG = 64 * 1024

/** Writes a string into the input buffer: its length in bytes. */
export function putText(core, offset, text, what) {
  const { length } = text
  if (length > LONG) return putBytes(core, offset, encodeText(text, what))
  core.room(offset, length * 3)
  return writeText(core.inputBytes, offset, text, what)
}

/** Writes bytes into the input buffer: how many. */
export function putBytes(core, offset, bytes) {
  const length = lengthOf(bytes)
  core.room(offset, length)
  core.inputBytes.set(bytes, offset)
  return length
}

/** Writes texts into the input buffer, one behind the other: their places. */
export function putTexts(core, texts) {
  const places = []
  let end = 0
  for (const [what, each] of Object.entries(texts)) {
    const length = putText(core, end, each, what)
    places.push([end, length])
    end += length
  }
  return places.flatMap(([start, length]) => [core.input + start, length])
}
