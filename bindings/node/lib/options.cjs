'use strict'
// Options: every one is known, of the right type, and in no conflict with another.

const { KEY, VALUE } = require('./crossing.cjs')
const { typeError, rangeError, describe } = require('./errors.cjs')

/** The options, or none, once their names are known. */
function readOptions(options, what, names) {
  if (options === undefined) return {}
  if (typeof options !== 'object' || options === null)
    throw typeError(`the options of ${what} are an object`, options)
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) {
      throw rangeError(`${what} has no option ${describe(name)}, it has ${names.join(', ')}`)
    }
  }
  return options
}

/** A whole number from 0 on. */
function readCount(value, what) {
  if (typeof value !== 'number') throw typeError(`${what} is a number`, value)
  if (!Number.isSafeInteger(value) || value < 0)
    throw rangeError(`${what} is a whole number from 0 on, not ${value}`)
  return value
}

/** A number of bytes, or none. */
function readLimit(limit) {
  return limit === undefined || limit === null ? undefined : readCount(limit, 'a memory limit')
}

function readBoolean(value, what) {
  if (typeof value !== 'boolean') throw typeError(`${what} is a boolean`, value)
  return value
}

function readString(value, what) {
  if (typeof value !== 'string') throw typeError(`${what} is a string`, value)
  return value
}

function readFunction(value, what) {
  if (typeof value !== 'function') throw typeError(`${what} is a function`, value)
  return value
}

const RANGE = ['gt', 'gte', 'lt', 'lte', 'prefix']

/** What the native half calls the two ends of a range. */
const NONE = 0
const INCLUDED = 1
const EXCLUDED = 2
const PREFIX = 3

/** At most one of two options. */
function readEnd(options, included, excluded) {
  if (options[included] === undefined)
    return options[excluded] === undefined ? [NONE] : [EXCLUDED, options[excluded]]
  if (options[excluded] !== undefined) throw rangeError(`a range has ${excluded} or ${included}, not both`)
  return [INCLUDED, options[included]]
}

/** The ends of a range, as the native half takes them: `{ from, low, to, high }`. */
function readRange(options, codec) {
  const { prefix } = options
  if (prefix !== undefined) return readPrefix(options, codec)
  const [from, low] = readEnd(options, 'gte', 'gt')
  const [to, high] = readEnd(options, 'lte', 'lt')
  // Packing the one may run code of the user's, which may use the memory of the other.
  const first = from === NONE ? undefined : codec.own(codec.pack(low, 'key'))
  const last = to === NONE ? undefined : codec.pack(high, 'key')
  return {
    from,
    low: from === NONE ? undefined : codec.cross(first, KEY),
    to,
    high: to === NONE ? undefined : codec.cross(last, VALUE),
  }
}

/** The keys that begin with one. */
function readPrefix({ prefix, gt, gte, lt, lte }, codec) {
  if ([gt, gte, lt, lte].some((end) => end !== undefined)) {
    throw rangeError('a range has a prefix or ends, not both')
  }
  const item = codec.pack(prefix, 'key')
  if (codec.hasPrefixes === false) throw rangeError('integers have no prefixes; a range of them has ends')
  const low = codec.cross(item, KEY)
  if (codec.endOfPrefix === undefined) return { from: PREFIX, low, to: NONE, high: undefined }
  return { from: INCLUDED, low, to: EXCLUDED, high: codec.cross(codec.endOfPrefix(item), VALUE) }
}

module.exports = {
  readOptions,
  readCount,
  readLimit,
  readBoolean,
  readString,
  readFunction,
  readRange,
  RANGE,
}
