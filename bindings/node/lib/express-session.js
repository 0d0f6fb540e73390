// A store of express-session. Its base class comes with the package, which the program passes.

import { Cache } from './cache.js'
import { BOUNDS } from './shared/cache.js'
import { makeError, typeError } from './shared/errors.js'
import { readOptions } from './shared/options.js'
import { KEEP } from './shared/table.js'
import { boundTtl, readTtl } from './shared/times.js'

const OPTIONS = [...BOUNDS, 'shared']
/** How long a session is kept whose cookie ends with the browser. */
const DAY = 86_400_000
/** As MemoryStore does: a lone surrogate is kept, since JSON escapes it, and the session's own class is not. */
const write = JSON.stringify
const read = (kept) => (kept === undefined ? undefined : JSON.parse(kept))

/** Calls back later, as stores do. */
const answer = (done, act) => {
  let result
  try {
    result = act()
  } catch (error) {
    if (done) setImmediate(done, error)
    return
  }
  if (done) setImmediate(done, null, result)
}

/** The class of stores over `session`, which is what express-session exports. */
export function sessionStore(session) {
  if (typeof session?.Store !== 'function')
    throw typeError('sessionStore takes the package express-session', session)
  return class TwindexStore extends session.Store {
    #cache
    #ttl

    constructor(options) {
      super(options)
      const { ttl = DAY, ...given } = readOptions(options, 'a session store', OPTIONS)
      this.#cache = new Cache({ ...given, ttl, values: 'str' })
      this.#ttl = ttl
    }

    /** A session is kept as long as its cookie. */
    #lifetime({ cookie }) {
      // A cookie that is over takes its session along.
      if (!cookie?.expires) return this.#ttl
      return readTtl(boundTtl(Math.max(1, new Date(cookie.expires) - Date.now())))
    }

    get(id, done) {
      answer(done, () => read(this.#cache.get(id)))
    }

    set(id, data, done) {
      answer(done, () => {
        const kept = write(data)
        if (this.#cache.upsert(id, kept, { ttl: this.#lifetime(data) })) return
        // The old one may allow what this one does not.
        this.#cache.delete(id)
        throw makeError('TWINDEX_NO_ROOM', `the cache has no room for a session of ${kept.length} characters`)
      })
    }

    touch(id, data, done) {
      answer(done, () => {
        // First, since a cookie without a valid date changes nothing.
        const lifetime = this.#lifetime(data)
        this.#cache.alter(id, (kept) =>
          kept === undefined ? KEEP : write({ ...read(kept), cookie: data.cookie }),
        )
        this.#cache.touch(id, lifetime)
      })
    }

    destroy(id, done) {
      answer(done, () => {
        this.#cache.delete(id)
      })
    }

    all(done) {
      answer(done, () => Object.fromEntries([...this.#cache].map(([id, kept]) => [id, read(kept)])))
    }

    length(done) {
      answer(done, () => [...this.#cache.keys()].length)
    }

    clear(done) {
      answer(done, () => this.#cache.clear())
    }
  }
}
