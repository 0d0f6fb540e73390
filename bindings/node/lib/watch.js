// Watches: the changes of a table's keys, as this process makes them.

import { Block } from './changed.js'
import { preventClone } from './clone.js'
import { numberOf, openInbox, settle, woken } from './inbox.js'
import { native } from './native.js'
import { onAbort } from './shared/abort.js'
import { checkInternal, INTERNAL } from './shared/internal.js'
import { readBoolean, readOptions } from './shared/options.js'
import { LONGEST_MS, NEXT, readWatch, WATCH, Waiting } from './shared/waiting.js'

const OPTIONS = [...WATCH, 'ref']

/** After so many changes without a pause the event loop gets a turn. Writers in other threads may be quicker than the reader. */
const AT_ONCE = 1000

const forgotten = new FinalizationRegistry(native.freeWatch)

/** An async iterator over changes. It never holds up a writer. */
export class Watch extends Waiting {
  #handle
  /** Keeps its store from being collected, which would end this. */
  #table
  #codecs
  #signal
  #ref
  #block
  #isEnded = false
  /** How many were given since the event loop had a turn. */
  #given = 0

  constructor(internal, handle, described) {
    super()
    checkInternal(internal, 'Watch', 'table.watch()')
    preventClone(this, 'Watch')
    const { table, codecs, signal, ref } = described
    this.#handle = handle
    this.#table = table
    this.#codecs = { of: () => codecs, isWanted: () => true }
    this.#signal = signal
    this.#ref = ref
    forgotten.register(this, handle, this)
  }

  get table() {
    return this.#table
  }

  /** The next change if there is one already. */
  poll() {
    while (!this.#isEnded) {
      if (this.#block !== undefined && !this.#block.isEmpty) return this.#block.next(this.#codecs).changes[0]
      const crossed = native.pollWatch(this.#handle)
      if (crossed === undefined) {
        this.close()
      } else {
        this.#block = new Block(crossed)
        if (this.#block.isEmpty) return undefined
      }
    }
    return undefined
  }

  /** Ends it, also for calls that wait. */
  close() {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#block = undefined
    this.#table = undefined
    forgotten.unregister(this)
    native.freeWatch(this.#handle)
    settle(numberOf(this.#handle))
  }

  get [Symbol.toStringTag]() {
    return 'Watch'
  }

  async [NEXT](end) {
    const wake = () => settle(numberOf(this.#handle))
    const stop = this.#signal && onAbort(this.#signal, wake)
    try {
      for (;;) {
        if (this.#isEnded) return undefined
        this.#throwIfAborted()
        const change = this.poll()
        const left = end - performance.now()
        if (change !== undefined && ++this.#given === AT_ONCE) {
          this.#given = 0
          await new Promise(setImmediate)
        }
        if (change !== undefined || this.#isEnded || left <= 0) return change
        const timer =
          left === Number.POSITIVE_INFINITY ? undefined : setTimeout(wake, Math.min(left, LONGEST_MS))
        if (!this.#ref) timer?.unref()
        await woken(numberOf(this.#handle), this.#ref)
        clearTimeout(timer)
        this.#given = 0
      }
    } finally {
      stop?.()
    }
  }

  #throwIfAborted() {
    if (!this.#signal?.aborted) return
    this.close()
    throw this.#signal.reason
  }
}

/** A watch by `open(maxChanges, capacity)`, which gives the native half's number. */
export function openWatch(table, codecs, options, open) {
  const { ref = true, ...read } = readOptions(options, 'a watch', OPTIONS)
  const { maxChanges, capacity, signal } = readWatch(read)
  readBoolean(ref, 'ref')
  openInbox()
  return new Watch(INTERNAL, open(maxChanges, capacity), { table, codecs, signal, ref })
}
