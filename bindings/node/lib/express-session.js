// A store of express-session. Its base class comes with the package, which the program passes.

import { rangeError, typeError } from './shared/errors.js'
import { readOptions } from './shared/options.js'
import { KEEP } from './shared/table.js'
import { Store } from './store.js'

const OPTIONS = ['store', 'name', 'max', 'maxSize', 'ttl']
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
      const given = readOptions(options, 'a session store', OPTIONS)
      const { store = new Store(), name = 'sessions', max, maxSize, ttl = DAY } = given
      if (!(store instanceof Store)) throw typeError('a store is a Store', store)
      if (max === undefined && maxSize === undefined) throw rangeError('a session store has max or maxSize')
      this.#cache = store.cache(name, { max, maxSize, ttl, values: 'str' })
      this.#ttl = ttl
    }

    /** A session is kept as long as its cookie. */
    #lifetime({ cookie }) {
      const left = cookie?.expires ? new Date(cookie.expires) - Date.now() : this.#ttl
      // With `ttl: 0` it is kept for ever, as in a cache; a cookie that is over takes its session along.
      return left === 0 && !cookie?.expires ? 0 : Math.max(1, left)
    }

    get(id, done) {
      answer(done, () => read(this.#cache.get(id)))
    }

    set(id, data, done) {
      answer(done, () => {
        this.#cache.upsert(id, write(data), { ttl: this.#lifetime(data) })
      })
    }

    touch(id, data, done) {
      answer(done, () => {
        this.#cache.alter(id, (kept) =>
          kept === undefined ? KEEP : write({ ...read(kept), cookie: data.cookie }),
        )
        this.#cache.touch(id, this.#lifetime(data))
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
