// What people use today, each as its documentation shows: one class a library, with the steps that it can do.
import { join } from 'node:path'
import { Store } from '../../index.js'

/** What is common: loops where a library has nothing for many. */
class Peer {
  isSorted = false

  constructor(folder) {
    this.folder = folder
  }

  insertMany(pairs) {
    for (const [key, value] of pairs) this.insert(key, value)
  }

  selectMany(keys) {
    return keys.map((key) => this.select(key))
  }

  /** Does many writes in the cheapest way that keeps them one by one. */
  write(work) {
    return work()
  }

  close() {}
}

class Twindex extends Peer {
  constructor(index) {
    super()
    this.isSorted = index === 'sorted'
    this.table = new Store().table('t', { index })
  }

  insert(key, value) {
    this.table.insert(key, value)
  }

  select(key) {
    return this.table.select(key)
  }

  insertMany(pairs) {
    this.table.insertMany(pairs)
  }

  selectMany(keys) {
    return this.table.selectMany(keys)
  }

  scan(limit, gte) {
    return gte === undefined ? this.table.entries() : this.table.scan({ gte, limit })
  }
}

class BuiltInMap extends Peer {
  map = new Map()

  insert(key, value) {
    this.map.set(key, value)
  }

  select(key) {
    return this.map.get(key)
  }
}

class SortedBTree extends Peer {
  isSorted = true

  async open() {
    const { default: BTree } = await import('sorted-btree')
    // The package is CommonJS, so its default export comes as a property.
    this.tree = new (BTree.default ?? BTree)()
  }

  insert(key, value) {
    this.tree.set(key, value)
  }

  select(key) {
    return this.tree.get(key)
  }

  scan(_limit, gte) {
    return this.tree.entries(gte)
  }
}

class Lmdb extends Peer {
  isSorted = true

  async open() {
    const { open } = await import('lmdb')
    // Without syncs, as nothing else here has any.
    this.db = open({ path: join(this.folder, 'lmdb'), encoding: 'string', noSync: true, mapSize: 2 ** 31 })
  }

  write(work) {
    return this.db.transactionSync(work)
  }

  insert(key, value) {
    this.db.put(key, value)
  }

  select(key) {
    return this.db.get(key)
  }

  insertMany(pairs) {
    this.db.transactionSync(() => {
      for (const [key, value] of pairs) this.db.put(key, value)
    })
  }

  selectMany(keys) {
    return this.db.getMany(keys)
  }

  *scan(limit, start) {
    for (const { key, value } of this.db.getRange({ start, limit })) yield [key, value]
  }

  close() {
    return this.db.close()
  }
}

class Level extends Peer {
  isSorted = true
  isSlow = true

  async insert(key, value) {
    await this.db.put(key, value)
  }

  select(key) {
    return this.db.getSync(key)
  }

  insertMany(pairs) {
    return this.db.batch(pairs.map(([key, value]) => ({ type: 'put', key, value })))
  }

  selectMany(keys) {
    return this.db.getMany(keys)
  }

  /** Its iterator gives pairs by the thousand, which is the fastest way. */
  async scanAll() {
    const iterator = this.db.iterator()
    let count = 0
    for (;;) {
      const pairs = await iterator.nextv(1000)
      if (pairs.length === 0) break
      count += pairs.length
    }
    await iterator.close()
    return count
  }

  async range(limit, gte) {
    return (await this.db.iterator({ gte, limit }).all()).length
  }

  close() {
    return this.db.close()
  }
}

class ClassicLevelPeer extends Level {
  async open() {
    const { ClassicLevel } = await import('classic-level')
    this.db = new ClassicLevel(join(this.folder, 'classic'))
    await this.db.open()
  }
}

class MemoryLevelPeer extends Level {
  async open() {
    const { MemoryLevel } = await import('memory-level')
    this.db = new MemoryLevel()
    await this.db.open()
  }
}

class Sqlite extends Peer {
  isSorted = true

  async open() {
    const { default: Database } = await import('better-sqlite3')
    this.db = new Database(':memory:')
    this.db.exec('create table t (key text primary key, value text) without rowid')
    this.put = this.db.prepare('insert into t values (?, ?)')
    this.get = this.db.prepare('select value from t where key = ?').pluck()
    this.all = this.db.prepare('select key, value from t order by key').raw()
    this.from = this.db.prepare('select key, value from t where key >= ? order by key limit ?').raw()
  }

  write(work) {
    return this.db.transaction(work)()
  }

  insert(key, value) {
    this.put.run(key, value)
  }

  select(key) {
    return this.get.get(key)
  }

  insertMany(pairs) {
    this.write(() => super.insertMany(pairs))
  }

  scan(limit, gte) {
    return gte === undefined ? this.all.iterate() : this.from.all(gte, limit)
  }

  close() {
    this.db.close()
  }
}

/** All of them, by the name that the report has. */
export const PEERS = {
  'twindex hash': () => new Twindex('hash'),
  'twindex sorted': () => new Twindex('sorted'),
  Map: () => new BuiltInMap(),
  'sorted-btree': () => new SortedBTree(),
  lmdb: (folder) => new Lmdb(folder),
  'classic-level': (folder) => new ClassicLevelPeer(folder),
  'memory-level': () => new MemoryLevelPeer(),
  'better-sqlite3': () => new Sqlite(),
}
