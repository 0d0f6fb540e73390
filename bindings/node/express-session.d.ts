import type { CacheBounds } from 'twindex'

/** `ttl` is how long a session is kept whose cookie has no end, by default a day. */
export interface TwindexSessionOptions extends CacheBounds {
  /** The name by which all threads have one cache. */
  shared?: string | undefined
}

/** The class of stores over what express-session exports: `new (sessionStore(session))({ capacity: 64e6 })`. */
export function sessionStore<Base>(session: {
  Store: abstract new (options?: never) => Base
}): new (
  options: TwindexSessionOptions,
) => Base
