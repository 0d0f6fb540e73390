// What threads have for this one: computations that they ended, changes of keys that are watched, and pairs that were evicted.

import { takeSums } from './block.js'
import { native } from './native.js'

/** The functions that continue, by the number of a computation, or that of a watch as `numberOf` has it, and whether the process waits for it. */
const waiting = new Map()
let kept = 0
/** The caches whose listeners are in this thread, by their numbers. */
const listening = new Map()
let isOpen = false

/** The native half calls this when another thread has something, or this one has told nobody yet. */
function wake() {
  native.takeWoken()
  for (const number of takeSums()) settle(number)
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

/** How a watch is told from computations. */
export const numberOf = (watch) => -1 - watch

/** Has what waits for this number go on. */
export function settle(number) {
  const it = waiting.get(number)
  if (it === undefined) return
  waiting.delete(number)
  if (it.isKept && --kept === 0) native.keepAlive(0)
  it.goOn()
}

/** Resolves when there is something for this number. If it is kept, the process stays alive until then. */
export function woken(number, isKept = true) {
  return new Promise((goOn) => {
    if (isKept && kept++ === 0) native.keepAlive(1)
    waiting.set(number, { goOn, isKept })
  })
}

/** From now on the cache is told, and of what went while it was loaded. */
export function listen(handle, cache) {
  const it = new WeakRef(cache)
  listening.set(handle, it)
  queueMicrotask(() => tell(it))
}

export const unlisten = (handle) => listening.delete(handle)
