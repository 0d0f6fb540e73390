// Memory that both halves see, as in src/crossing.rs.

import { native } from './native.js'
import { makeError } from './shared/errors.js'

/** The regions, for the byte arrays that one call can have. */
export const KEY = 0
export const VALUE = 1
export const EXPECTED = 2
export const REGION_BYTES = 4096

/** The error of the native half; `details` is JSON of its properties. */
function raise(code, message, details, ...got) {
  const error = makeError(code, message, ...got)
  if (details !== undefined) Object.assign(error, JSON.parse(details))
  Error.captureStackTrace?.(error, raise)
  return error
}

/** An object that crossed as JSON, with `undefined` for `null`. */
export function parseObject(text) {
  const object = JSON.parse(text)
  for (const name of Object.keys(object)) if (object[name] === null) object[name] = undefined
  return object
}

const memory = native.prepare(raise)
export const regions = [KEY, VALUE, EXPECTED].map(
  (region) => new Uint8Array(memory, region * REGION_BYTES, REGION_BYTES),
)

/** How long the parts of one string are that carries many. */
export const lengths = new Uint32Array(memory, regions.length * REGION_BYTES)
