// Twindex beside what Node programs use today: `npm install --prefix bench`, then `node bench.mjs` prints ratios.
//
//   node bench.mjs [hash] [sorted] [cache] [--pairs N] [--threads T] [--keys FILE] [--rounds N]
import { createRequire } from 'node:module'
import { main, Peer } from '../../benches/bench.js'
import { Cache, Store } from './index.js'

const { resolve } = createRequire(new URL('./bench/package.json', import.meta.url))
/** A library of `bench/package.json`, which need not be installed. */
const rival = async (name) => {
  try {
    return await import(resolve(name))
  } catch (error) {
    throw Object.assign(new Error(`${name} is not installed`, { cause: error }), {
      code: 'ERR_MODULE_NOT_FOUND',
    })
  }
}

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

  steps(gte) {
    const cursor = this.table.cursor({ gte })
    return () => cursor.scanAscNext()
  }
}

class BuiltInMap extends Peer {
  map = new Map()
  insert = (key, value) => this.map.set(key, value)
  replace = this.insert
  select = (key) => this.map.get(key)
}

class SortedBTree extends Peer {
  constructor(BTree) {
    super()
    // The package is CommonJS, so its default export comes as a property.
    this.tree = new (BTree.default ?? BTree)()
    this.insert = (key, value) => this.tree.set(key, value)
    this.replace = this.insert
    this.select = (key) => this.tree.get(key)
  }

  scan(gte) {
    return this.tree.entries(gte)
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
  hash: { twindex: (place) => new Twindex('hash', place), Map: () => new BuiltInMap(), lmdb },
  sorted: {
    twindex: (place) => new Twindex('sorted', place),
    'sorted-btree': async () => new SortedBTree((await rival('sorted-btree')).default),
    lmdb,
  },
  cache: {
    twindex: () => (max) => new Cache({ max, values: 'str' }),
    'lru-cache': async () => {
      const { LRUCache } = await rival('lru-cache')
      return (max) => new LRUCache({ max })
    },
  },
})
