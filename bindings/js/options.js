// Arguments and options: each of the right type, every option known, and none in conflict with another.

import { rangeError, typeError } from './errors.js'
import { unknownOption } from './renamed.js'

/** The options, or none, once their names are known. Each is read once, since it may be a getter. */
export function readOptions(options, what, names) {
  if (options === undefined) return {}
  if (typeof options !== 'object' || options === null)
    throw typeError(`the options of ${what} are an object`, options)
  const read = {}
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) throw unknownOption(name, what, names)
    read[name] = options[name]
  }
  // An object of a class may have options that it inherits.
  if (Object.getPrototypeOf(options) !== Object.prototype) {
    for (const name of names) if (!(name in read)) read[name] = options[name]
  }
  return read
}

/** An AbortSignal, or none. */
export function readSignal(signal) {
  if (signal === undefined || signal instanceof AbortSignal) return signal
  throw typeError('a signal is an AbortSignal', signal)
}

/** A whole number from 0 on. */
export function readCount(value, what) {
  if (typeof value !== 'number') throw typeError(`${what} is a number`, value)
  if (Number.isSafeInteger(value) && value >= 0) return value
  const most = Number.MAX_SAFE_INTEGER
  if (value > most) throw rangeError(`${what} is at most ${most}, not ${value}`)
  throw rangeError(`${what} is a whole number from 0 on, not ${value}`)
}

/** A number of bytes, or none. */
export function readLimit(limit) {
  return limit === undefined || limit === null ? undefined : readCount(limit, 'a memory limit')
}

export function readBoolean(value, what) {
  if (typeof value !== 'boolean') throw typeError(`${what} is a boolean`, value)
  return value
}

export function readString(value, what) {
  if (typeof value !== 'string') throw typeError(`${what} is a string`, value)
  return value
}

export function readFunction(value, what) {
  if (typeof value !== 'function') throw typeError(`${what} is a function`, value)
  return value
}

/** The options of a table. */
export const TABLE = ['index', 'keys', 'values', 'create']

// --- many items

export function readIterable(value, what) {
  // A string is an iterable too, and never meant as one here.
  if (value === null || typeof value !== 'object' || typeof value[Symbol.iterator] !== 'function') {
    throw typeError(`${what} are an array or another iterable`, value)
  }
  return value
}

export function readTuple(value, length, what) {
  if (Array.isArray(value) && value.length === length) return value
  throw typeError(`each of ${what} is an array of ${length}`, value)
}

// --- ranges

export const RANGE = ['gt', 'gte', 'lt', 'lte', 'prefix']
export const SCAN = [...RANGE, 'reverse', 'limit']

/** The kinds of bound, as the native halves and the module number them. */
export const NONE = 0
export const INCLUDED = 1
export const EXCLUDED = 2
export const PREFIX = 3

/** Every key. */
export const NO_RANGE = { lower: [NONE], upper: [NONE] }

/** No key: none is less than the empty one. */
export const noKeys = ({ isBytes }) => ({
  lower: [NONE],
  upper: [EXCLUDED, isBytes ? new Uint8Array(0) : ''],
})

/** The two ends of a range, each as a kind and an item. `{ prefix }` is one bound for both ends, or the ends that the codec says. */
export function readRange(options, codec) {
  if (options.prefix !== undefined) return readPrefix(options, codec)
  return { lower: readEnd(options, 'gte', 'gt', codec), upper: readEnd(options, 'lte', 'lt', codec) }
}

// Reading a key may run code of the user's, which may use its buffer again.
const bound = (kind, key, codec) => [kind, codec.own(codec.toItem(key, 'key'))]

/** At most one of two options. */
function readEnd(options, included, excluded, codec) {
  if (options[included] === undefined) {
    return options[excluded] === undefined ? [NONE] : bound(EXCLUDED, options[excluded], codec)
  }
  if (options[excluded] !== undefined) throw rangeError(`a range has ${excluded} or ${included}, not both`)
  return bound(INCLUDED, options[included], codec)
}

/** The options of `deleteRange`. */
export const readDeleted = (options, codec) => readRange(readOptions(options, 'a range', RANGE), codec)

/** The keys that begin with one. */
export function readPrefix({ prefix, gt, gte, lt, lte }, codec) {
  if ([gt, gte, lt, lte].some((end) => end !== undefined)) {
    throw rangeError('a range has a prefix or ends, not both')
  }
  const both = bound(PREFIX, prefix, codec)
  if (!codec.hasPrefixes) throw rangeError('integers have no prefixes; a range of them has ends')
  if (codec.endOfPrefix === undefined) return { lower: both, upper: both }
  return { lower: [INCLUDED, both[1]], upper: [EXCLUDED, codec.endOfPrefix(both[1])] }
}

/** The options of the scan that `prefix(prefix, options)` is. */
export function readPrefixScan(prefix, options) {
  if (prefix === undefined) throw typeError('a prefix is a key', prefix)
  return { ...readOptions(options, 'a prefix', ['reverse', 'limit']), prefix }
}

/** What a scan is asked for. */
export function readScan(options, codec) {
  const read = readOptions(options, 'a scan', SCAN)
  const { reverse = false, limit } = read
  readBoolean(reverse, 'reverse')
  if (limit !== undefined) readCount(limit, 'a limit')
  return { reverse, limit, range: readRange(read, codec) }
}
