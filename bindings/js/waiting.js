// What feeds and watches share: async iterators whose calls take turns, each of which may wait.

import { rangeError, typeError } from './errors.js'
import { ASYNC_DISPOSE } from './internal.js'
import { readCount, readSignal } from './options.js'

/** What a class has for this one: the next value, or `undefined` where none came up to a time of `performance.now()`. */
export const NEXT = Symbol('next')

/** The same, once all calls before have settled. */
export const TURN = Symbol('turn')

/** A timer takes no longer time. */
export const LONGEST_MS = 2 ** 31 - 1

/** The options of a watch. */
export const WATCH = ['maxChanges', 'capacity', 'signal']

export function readWatch(read) {
  for (const name of ['maxChanges', 'capacity']) {
    if (read[name] !== undefined && readCount(read[name], name) === 0)
      throw rangeError(`${name} must be at least 1, not 0`)
  }
  readSignal(read.signal)
  return read
}

export class Waiting {
  #last = Promise.resolve()

  async next() {
    const value = await this[TURN](Number.POSITIVE_INFINITY)
    return { value, done: value === undefined }
  }

  /** The next value, or `undefined` where none came for so many milliseconds. */
  async wait(timeout = Number.POSITIVE_INFINITY) {
    if (typeof timeout !== 'number' || !(timeout >= 0)) {
      throw typeError('a timeout is a number of milliseconds from 0 on', timeout)
    }
    return this[TURN](performance.now() + timeout)
  }

  async return(value) {
    this.close()
    return { value, done: true }
  }

  [TURN](end) {
    const turn = this.#last.then(() => this[NEXT](end))
    this.#last = turn.catch(() => {})
    return turn
  }

  [Symbol.asyncIterator]() {
    return this
  }

  async [ASYNC_DISPOSE]() {
    this.close()
  }
}
