// Work that waits for a disk, with a promise: how to stop waiting for it, and how far it has come.

import { AsyncLocalStorage } from 'node:async_hooks'
import { native } from './native.js'
import { onAbort } from './shared/abort.js'
import { readFunction, readSignal } from './shared/options.js'

/** The options of whatever is done later. */
export const LATER = ['signal', 'progress']

/** Between two reports of progress. */
const REPORT_MS = 100

function readLater({ signal, progress }) {
  readSignal(signal)
  if (progress !== undefined) readFunction(progress, 'progress')
  signal?.throwIfAborted()
}

/** Settles as `work` does, or earlier where the signal aborts, or where progress cannot be reported. */
async function race(work, { signal, progress }, gauge) {
  const stops = []
  const stopped = new Promise((_, reject) => {
    const stop = (cause) => reject(cause)
    if (signal !== undefined) stops.push(onAbort(signal, () => stop(signal.reason)))
    if (progress !== undefined) {
      const report = () => progress(JSON.parse(native.readGauge(gauge)))
      const timer = setInterval(() => {
        try {
          report()
        } catch (cause) {
          stop(cause)
        }
      }, REPORT_MS)
      stops.push(() => clearInterval(timer))
      work.then(report).catch(stop)
    }
  })
  try {
    // Not the work's own result yet, so that a last report comes before it.
    const result = await Promise.race([work, stopped])
    if (progress !== undefined) await Promise.race([stopped, null])
    return result
  } finally {
    for (const end of stops) end()
  }
}

/**
 * What `start(gauge)` promises. Where it is not waited for any longer it goes on all the same, and `undo` gets its result.
 */
export async function later(options, start, undo) {
  readLater(options)
  const { signal, progress } = options
  if (signal === undefined && progress === undefined) return start()
  const gauge = progress === undefined ? undefined : native.openGauge()
  const work = start(gauge)
  const end = () => {
    if (gauge !== undefined) native.freeGauge(gauge)
  }
  try {
    return await race(work, options, gauge)
  } catch (cause) {
    // Nobody waits any more for what comes of either.
    work.then(undo).catch(() => {})
    throw cause
  } finally {
    work.then(end, end)
  }
}

/** Which of some things a thread is doing, also after that has waited. While it is in use, every promise of the thread costs more. */
export function tracking() {
  const running = new AsyncLocalStorage()
  let count = 0
  return {
    current: () => (count === 0 ? undefined : running.getStore()),
    async run(thing, act) {
      count++
      try {
        return await running.run(thing, act)
      } finally {
        if (--count === 0) running.disable()
      }
    },
  }
}
