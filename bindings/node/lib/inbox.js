// What other threads have for this one: computations that they ended, and pairs that they evicted.

import { takeSums } from './many.js'
import { native } from './native.js'

/** What is to go on when another thread has ended a computation, by its number. */
const waiting = new Map()
/** The caches whose listeners are in this thread, by their numbers. */
const listening = new Map()
let isOpen = false

/** The native half calls this when another thread has something, or this one has told nobody yet. */
function wake() {
  native.takeWoken()
  for (const number of takeSums()) {
    const goOn = waiting.get(number)
    if (goOn === undefined) continue
    waiting.delete(number)
    goOn()
  }
  if (waiting.size === 0) native.keepAlive(0)
  for (const cache of listening.values()) queueMicrotask(() => tell(cache))
}

/** What a listener throws is an uncaught exception, and the others are told all the same. */
function tell(cache) {
  try {
    cache.deref()?.tell()
  } catch (error) {
    queueMicrotask(() => tell(cache))
    throw error
  }
}

/** Has the native half call when there is something. */
export function openInbox() {
  if (isOpen) return
  native.openInbox(wake)
  isOpen = true
}

/** Resolves when another thread has ended the computation of this number. The process stays alive until then. */
export function woken(number) {
  return new Promise((resolve) => {
    if (waiting.size === 0) native.keepAlive(1)
    waiting.set(number, resolve)
  })
}

/** From now on the cache is told, and of what went while it was loaded. */
export function listen(handle, cache) {
  const it = new WeakRef(cache)
  listening.set(handle, it)
  queueMicrotask(() => tell(it))
}

export const unlisten = (handle) => listening.delete(handle)
