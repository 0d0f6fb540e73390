// Options: every one is known, of the right type, and in no conflict with another.

import { describe, rangeError, typeError } from './errors.js'

/** The options, or none, once their names are known. */
export function readOptions(options, what, names) {
  if (options === undefined) return {}
  if (typeof options !== 'object' || options === null)
    throw typeError(`the options of ${what} are an object`, options)
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue
    throw rangeError(`${what} has no option ${describe(name)}, it has ${names.join(', ')}`)
  }
  return options
}

/** A whole number from 0 on. */
export function readCount(value, what) {
  if (typeof value !== 'number') throw typeError(`${what} is a number`, value)
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw rangeError(`${what} is a whole number from 0 on, not ${value}`)
}

/** A memory limit as the module takes it. */
export function readLimit(limit) {
  return limit === undefined || limit === null ? undefined : readCount(limit, 'a memory limit')
}

export function readString(value, what) {
  if (typeof value !== 'string') throw typeError(`${what} is a string`, value)
  return value
}

export function readFunction(value, what) {
  if (typeof value !== 'function') throw typeError(`${what} is a function`, value)
  return value
}

/** An amount of `increment`, as a bigint. */
export function readAmount(by) {
  if (typeof by !== 'bigint' && !Number.isInteger(by)) throw typeError('an amount is a whole number', by)
  const amount = BigInt(by)
  const fits = typeof by === 'bigint' ? BigInt.asIntN(64, amount) === amount : Number.isSafeInteger(by)
  if (!fits) throw rangeError(`an amount is a safe integer or a bigint of 64 bits, not ${describe(by)}`)
  return amount
}

/** A sum as a number or a bigint, like its amount. */
export const like = (by, sum) => (typeof by === 'bigint' ? sum : Number(sum))

export const RANGE = ['gt', 'gte', 'lt', 'lte', 'prefix']

/** The module's kinds of bound. */
export const NONE = 0
export const INCLUDED = 1
export const EXCLUDED = 2
export const PREFIX = 3

/** Every key. */
export const NO_RANGE = { lower: [NONE], upper: [NONE] }

/** The two ends of a range, each as a kind and an item. */
export function readRange(options, codec) {
  const { gt, gte, lt, lte, prefix } = options
  const end = (included, excluded, names) => {
    if (included === undefined && excluded === undefined) return [NONE]
    if (included !== undefined && excluded !== undefined) throw rangeError(`a range has ${names}, not both`)
    return included === undefined ? bound(EXCLUDED, excluded) : bound(INCLUDED, included)
  }
  const bound = (kind, key) => [kind, codec.own(codec.toItem(key, 'key'))]
  const range = { lower: end(gte, gt, 'gt or gte'), upper: end(lte, lt, 'lt or lte') }
  if (prefix === undefined) return range
  if (range.lower[0] !== NONE || range.upper[0] !== NONE)
    throw rangeError('a range has a prefix or ends, not both')
  const both = bound(PREFIX, prefix)
  if (codec.hasPrefixes === false) throw rangeError('integers have no prefixes; a range of them has ends')
  if (codec.endOfPrefix) {
    return { lower: [INCLUDED, both[1]], upper: [EXCLUDED, codec.endOfPrefix(both[1])] }
  }
  return { lower: both, upper: both }
}
