'use strict'
// Memory that both halves see, as in src/crossing.rs.

const native = require('./native.cjs')
const { makeError } = require('./errors.cjs')

/** The regions, for the byte arrays that one call can have. */
const KEY = 0
const VALUE = 1
const EXPECTED = 2
const REGION_BYTES = 4096

const memory = native.prepare(makeError)
const regions = [KEY, VALUE, EXPECTED].map(
  (region) => new Uint8Array(memory, region * REGION_BYTES, REGION_BYTES),
)

/** How long the parts of one string are that carries many. */
const lengths = new Uint32Array(memory, regions.length * REGION_BYTES)

module.exports = { KEY, VALUE, EXPECTED, REGION_BYTES, regions, lengths }
