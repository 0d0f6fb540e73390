// What happens to stores in the background, as events. The native half keeps it, since it may hold locks when it happens; while
// somebody listens, a timer asks for it, which keeps no process alive.

import { EventEmitter } from 'node:events'
import { native } from './native.js'
import { describe, rangeError } from './shared/errors.js'
import { readFunction, readString } from './shared/options.js'

const OFTEN_MS = 100

export const WARNING = 'warning'

/** The listeners: an emitter and the file of its store. */
const listening = new Map()
let timer
let seen = 0

function look() {
  const { count, notices } = JSON.parse(native.noticesBehind(seen))
  seen = count
  for (const notice of notices) {
    for (const [emitter, path] of listening) {
      if (emitter.listenerCount(WARNING) === 0) stop(emitter)
      // What a listener throws is nobody else's.
      if (notice.path === path) process.nextTick(() => emitter.emit(WARNING, Object.freeze(notice)))
    }
  }
}

function start(emitter, path) {
  listening.set(emitter, path)
  if (timer !== undefined) return
  seen = JSON.parse(native.noticesBehind(Number.MAX_SAFE_INTEGER)).count
  timer = setInterval(look, OFTEN_MS)
  timer.unref()
}

function stop(emitter) {
  listening.delete(emitter)
  if (listening.size > 0) return
  clearInterval(timer)
  timer = undefined
}

/** The listeners of a store. */
export class Warnings {
  #emitter = new EventEmitter()
  #path

  constructor(path) {
    this.#path = path
  }

  /** Calls `on`, `once` or `off` of the emitter. */
  change(method, event, listener) {
    if (readString(event, 'an event') !== WARNING)
      throw rangeError(`a store has no event ${describe(event)}, it has ${WARNING}`)
    readFunction(listener, 'a listener')
    this.#emitter[method](event, listener)
    if (this.#emitter.listenerCount(WARNING) === 0) stop(this.#emitter)
    else if (this.#path !== undefined) start(this.#emitter, this.#path)
  }

  end() {
    this.#emitter.removeAllListeners()
    stop(this.#emitter)
  }
}
