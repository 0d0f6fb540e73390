import type { CacheBounds } from 'twindex'

/** `ttl` is the life of a session whose cookie ends with the browser: a day by default. */
export interface TwindexSessionOptions extends CacheBounds {
  /** All threads that pass this name share one cache. */
  shared?: string | undefined
}

/** The class of stores for express-session: `new (sessionStore(session))({ capacity: 64e6 })`. */
export function sessionStore<Base>(session: {
  Store: abstract new (options?: never) => Base
}): new (
  options: TwindexSessionOptions,
) => Base
