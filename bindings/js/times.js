// Times to live.

import { makeError, typeError } from './errors.js'
import { readOptions } from './options.js'

const WRITE = ['ttl']

/** A thousand years, as in the crate. */
const MOST_MS = 1000 * 365 * 24 * 3_600_000

/** A time as the native halves take it: whole milliseconds, `Infinity` for ever, `undefined` for none. */
export function readTime(time, what) {
  if (time === undefined) return undefined
  if (typeof time !== 'number') throw typeError(`${what} is a number of milliseconds`, time)
  if (time === Number.POSITIVE_INFINITY || (time > 0 && time <= MOST_MS)) return Math.ceil(time)
  const range = `more than 0 and at most ${MOST_MS} milliseconds, or Infinity for ever`
  throw makeError('TWINDEX_TTL', `${what} is ${range}, not ${time}`)
}

export const readTtl = (ttl) => readTime(ttl, 'a time to live')

/** The same of another library, whose times may be longer than ours: such a one is for ever. */
export const boundTtl = (ttl) => (ttl > MOST_MS ? Number.POSITIVE_INFINITY : ttl)

/** The time to live that the options of a write say. */
export const readWrite = (options) =>
  options === undefined ? undefined : readTtl(readOptions(options, 'a write', WRITE).ttl)

/** The options of a write for the time of another library, where 0 and none are for ever. */
export const lifetimeOf = (ttl) => ([undefined, null, 0].includes(ttl) ? undefined : { ttl: boundTtl(ttl) })
