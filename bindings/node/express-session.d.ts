import type { Store } from 'twindex'

export interface TwindexSessionOptions {
  /** A store that is open already, such as one that all threads share; one in memory of its own without it. */
  store?: Store | undefined
  /** The cache that has the sessions, `sessions` by default. */
  name?: string | undefined
  /** The most sessions, or the most bytes of memory that they take: one of the two. */
  max?: number | undefined
  maxSize?: number | undefined
  /** How many milliseconds a session is kept whose cookie has no end, by default a day. */
  ttl?: number | undefined
}

/** The class of stores over what express-session exports: `new (sessionStore(session))({ maxSize: 64e6 })`. */
export function sessionStore<Base>(session: {
  Store: abstract new (options?: never) => Base
}): new (
  options: TwindexSessionOptions,
) => Base
