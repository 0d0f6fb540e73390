// Twindex beside what Node programs use today: `npm install --prefix bench`, then `node bench.mjs` prints ratios.
//
//   node bench.mjs [hash] [sorted] [cache] [--pairs N] [--threads T] [--keys FILE] [--rounds N]
import { main, Peer, peers, rival } from '../../benches/bench.js'
import { Cache, Store } from './index.js'

class Twindex extends Peer {
  /** Workers share the store of a name. */
  constructor(index, { shared }) {
    super()
    this.store = new Store({ shared })
    this.table = this.store.table('t', { index, keys: 'str', values: 'str' })
    this.insert = (key, value) => this.table.insert(key, value)
    this.replace = (key, value) => this.table.set(key, value)
    this.select = (key) => this.table.select(key)
  }

  insertMany(pairs) {
    this.table.insertMany(pairs)
  }

  selectMany(keys) {
    return this.table.selectMany(keys)
  }

  scan(gte, limit) {
    return gte === undefined
      ? this.table.entries()
      : this.table.scan(limit === undefined ? { gte } : { gte, limit })
  }
}

/** Without syncs, as nothing else here has any; many writes are one transaction. */
class Lmdb extends Peer {
  constructor(open, path) {
    super()
    this.db = open({ path, encoding: 'string', noSync: true, mapSize: 2 ** 33 })
    this.insert = (key, value) => this.db.put(key, value)
    this.replace = this.insert
    this.select = (key) => this.db.get(key)
  }

  write(work) {
    this.db.transactionSync(work)
  }

  *scan(start, limit) {
    for (const { key, value } of this.db.getRange({ start, limit })) yield [key, value]
  }

  close() {
    return this.db.close()
  }
}

const lmdb = async ({ shared }) => new Lmdb((await rival('lmdb')).open, shared)

await main(import.meta.url, {
  hash: { twindex: (place) => new Twindex('hash', place), ...peers.hash, lmdb },
  sorted: { twindex: (place) => new Twindex('sorted', place), ...peers.sorted, lmdb },
  cache: { twindex: () => (max) => new Cache({ max, values: 'str' }), ...peers.cache },
})
