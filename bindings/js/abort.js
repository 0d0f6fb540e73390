// Waiting that ends when a signal aborts. However many calls have one signal, it has one listener, since Node takes many for a leak.

/** The functions to call, by signal. */
const waiting = new WeakMap()

/** Calls `end` when the signal aborts; returns what undoes that. */
export function onAbort(signal, end) {
  let ends = waiting.get(signal)
  if (ends === undefined) {
    ends = new Set()
    waiting.set(signal, ends)
  }
  // Each is called once, though two may be one function.
  const call = () => end()
  if (ends.size === 0) {
    ends.listener = () => {
      for (const each of [...ends]) each()
    }
    signal.addEventListener('abort', ends.listener)
  }
  ends.add(call)
  return () => {
    if (ends.delete(call) && ends.size === 0) signal.removeEventListener('abort', ends.listener)
  }
}

/** Settles as the promise does, or rejects with the signal's reason where that aborts before. */
export async function untilAborted(promise, signal) {
  if (signal === undefined) return promise
  let stop
  const aborted = new Promise((_, reject) => {
    stop = onAbort(signal, () => reject(signal.reason))
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    stop()
  }
}
