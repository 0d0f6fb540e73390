// Memory that both halves see, as in src/crossing.rs.

import { native } from './native.js'
import { makeError } from './shared/errors.js'

/** The regions, for the byte arrays that one call can have. */
export const KEY = 0
export const VALUE = 1
export const EXPECTED = 2
export const REGION_BYTES = 4096

const memory = native.prepare(makeError)
export const regions = [KEY, VALUE, EXPECTED].map(
  (region) => new Uint8Array(memory, region * REGION_BYTES, REGION_BYTES),
)

/** How long the parts of one string are that carries many. */
export const lengths = new Uint32Array(memory, regions.length * REGION_BYTES)
