// The lock by which one tab or worker has a store for writing.

import { makeError } from '../shared/errors.js'

/** The stores that this tab or worker is closing, until each is free. */
const closing = new Map()

export function checkSecure() {
  if (globalThis.navigator?.locks !== undefined) return
  throw makeError('TWINDEX_IO', 'only secure pages (https: or localhost) can have stores')
}

/** Takes the lead over a store, which one tab or worker has at a time and loses when it ends. */
export async function lead(name, wait, signal) {
  checkSecure()
  await closing.get(name)
  return new Promise((resolve, reject) => {
    const hold = (held) => {
      if (held === null) {
        reject(
          makeError(
            'TWINDEX_IN_USE',
            `another tab or worker has the store '${name}' open for writing; readOnly: true opens it for reading, wait: true waits`,
          ),
        )
        return undefined
      }
      return new Promise((release) => {
        const close = () => {
          const free = released.finally(() => closing.get(name) === free && closing.delete(name))
          closing.set(name, free)
        }
        resolve({ close, release })
      })
    }
    const released = navigator.locks.request(
      `twindex:${name}`,
      wait ? { signal } : { ifAvailable: true },
      hold,
    )
    released.catch(reject)
  })
}

const LIVE = 'twindex:client:'

/** Has others know that the tab or worker of this id lives, until the function that it resolves to is called. */
export const live = (id) =>
  new Promise((resolve, reject) => {
    navigator.locks.request(LIVE + id, () => new Promise((release) => resolve(release))).catch(reject)
  })

/** The ids of those that live. */
export async function alive() {
  const { held } = await navigator.locks.query()
  return new Set(held.filter(({ name }) => name.startsWith(LIVE)).map(({ name }) => name.slice(LIVE.length)))
}
