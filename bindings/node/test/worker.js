// What threads of the tests do, by name: `workerData` has the name and what else it is told.
import { once } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import { Cache, open, openSync, Store } from 'twindex'

const { job, given } = workerData
const tell = (message) => parentPort.postMessage(message)

const jobs = {
  /** Reads and writes a cache that threads share. */
  cacher({ at, rounds }) {
    const cache = new Cache({ shared: 'cached' })
    let wrong = 0
    let over = 0
    for (let round = 0; round < rounds; round++) {
      const key = String((round * (at + 7)) % 2000)
      const found = cache.get(key)
      if (found !== undefined && found !== key.repeat(700)) wrong++
      cache.set(key, key.repeat(700), { ttl: round % 5 === 0 ? 1 : Number.POSITIVE_INFINITY })
      if (cache.memory > 30_000_000) over++
    }
    cache.set(`last-${at}`, String(at))
    tell({ wrong, over })
  },

  /** Computes values of a shared cache: each when it is told to go on. */
  computer(shared) {
    const cache = new Cache({ shared })
    const compute = async (key) => {
      tell('begun')
      await once(parentPort, 'message')
      const error = new RangeError('of the worker')
      if (key === 'error') throw Object.assign(error, { code: 'E_OWN', left: 7 })
      // What an error has that has no copy stays behind.
      if (key === 'uncloneable')
        throw Object.assign(error, { name: Symbol('none'), cause: () => {}, left: 7 })
      return 'of the worker'
    }
    parentPort.on('message', ({ key }) => {
      if (key !== undefined) cache.getOrCompute(key, () => compute(key)).catch(() => {})
    })
    tell('ready')
  },

  /** Fills a cache of ten pairs. */
  evicter(shared) {
    const cache = new Cache({ shared })
    for (let n = 0; n < 1000; n++) cache.set(`k${n}`, 1)
  },

  /** Opens a file and writes to it, until it is done or ended. */
  file({ path, durability, from, to, forever }) {
    const store = openSync(path, { durability })
    const table = store.table('t', { index: 'sorted' })
    for (let i = from; i < to; i++) table.insert(`key-${i}`, `value-${i}`)
    tell(table.size)
    for (let i = 0; forever; i++) {
      table.set(`busy-${i % 100}`, 'x'.repeat(i % 2000))
      if (i % 10 === 0) store.batch((batch) => batch.set(table, 'one', `${i}`).set(table, 'two', `${i}`))
    }
  },

  /** Has the follower of a file: it says how many users it sees whenever it is asked. */
  follower(path) {
    const store = openSync(path, { readOnly: true })
    const users = store.table('users')
    parentPort.on('message', (message) => {
      if (message === 'follow') store.followSync()
      if (message === 'close') {
        store.closeSync()
        parentPort.close()
        return
      }
      tell(users.size)
    })
    tell(users.size)
  },

  /** Opens everything that can be opened on a store of its own, 40 megabytes of it, and keeps it until the thread is ended. */
  hoarder() {
    const store = new Store()
    const table = store.table('t', { index: 'sorted' })
    for (let pair = 0; pair < 400; pair++) table.set(`k${pair}`, 'x'.repeat(100_000))
    const cursor = table.cursor()
    cursor.scanAscNext()
    const iterator = table.entries()
    iterator.next()
    const batch = store.batch().set(table, 'k', 'x'.repeat(100_000))
    // Its bytes come when the thread may have been ended.
    store.dump()
    parentPort.on('message', () => tell([cursor, iterator, batch].length))
    tell('full')
  },

  /** Moves money between the accounts of a shared store, each time in a transaction. */
  mover({ shared, moves }) {
    const store = new Store({ shared })
    const any = () => `account-${Math.floor(Math.random() * 10)}`
    for (let move = 0; move < moves; move++) {
      const [from, to] = [any(), any()]
      store.transaction((tx) => {
        const accounts = tx.table('accounts')
        const left = accounts.get(from) - 7
        if (left < 0) return
        accounts.set(from, left)
        accounts.increment(to, 7)
      })
    }
  },

  /** Opens the store in a file, counts in it, and closes it, again and again. */
  async opener({ path, durability, rounds, key }) {
    for (let round = 0; round < rounds; round++) {
      const store = await open(path, { durability })
      store.table('t').increment(key)
      await store.close()
    }
  },

  /** Writes what the main thread watches. */
  watched() {
    const numbers = new Store({ shared: 'watched' }).table('numbers', { keys: 'int', values: 'int' })
    for (let key = 0; key < 200; key++) numbers.set(key, key)
    setInterval(() => {}, 1000)
  },

  /** Works on a shared store, until it is done or ended. */
  writer({ shared, table: name, options, from, to, forever }) {
    const table = new Store({ shared }).table(name, options)
    let inserted = 0
    for (let i = from; i < to; i++) inserted += table.insert(`key-${i}`, `value-${i}`)
    table.increment('sum', inserted)
    tell({ inserted, size: table.size })
    for (let i = 0; forever; i++) {
      table.upsertMany(Object.entries({ [`busy-${i % 100}`]: 'x'.repeat(i % 2000), now: String(i) }))
      for (const _ of table) if (Math.random() < 0.1) break
    }
  },
}

await jobs[job](given)
