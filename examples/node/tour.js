// One program in four languages: a table, a scan, a batch, the feed, a snapshot, a cache.

import { Cache, open } from 'twindex'

const store = await open(process.argv[2])

const users = store.table('users', { values: 'json' })
users.insert('ada', { born: 1815 })
users.insert('ada', { born: 1852 }) // changes nothing: the key is there
console.log(`table: ${users.size} user, born ${users.select('ada').born}`)

const log = store.table('log', { index: 'sorted' })
log.upsertMany(Object.entries({ '2026-11-02': 'b', '2026-11-01': 'a', '2025-12-31': 'z' }))
for (const [day, text] of log.prefix('2026-')) console.log(`scan: ${day} ${text}`)

const accounts = store.table('accounts', { values: 'int' })
const { position } = store
const batch = store.batch()
batch.upsert(accounts, 'ada', 70)
batch.upsert(accounts, 'bob', 30)
console.log(`batch: ${batch.commit().length} writes`)

const feed = store.changes(position)
for (const { kind, key, value } of (await feed.poll()).changes) console.log(`feed: ${kind} ${key} ${value}`)
feed.close()

const snapshot = store.snapshot()
accounts.increment('ada')
const before = snapshot.table('accounts')
console.log(`snapshot: ${before.select('ada')}, now ${accounts.select('ada')}`)
snapshot.close()

const squares = new Cache({ maxEntries: 100, keys: 'int', values: 'int' })
for (let time = 0; time < 2; time++) {
  const square = await squares.getOrCompute(12, () => {
    console.log('cache: computing')
    return 12 * 12
  })
  console.log(`cache: ${square}`)
}
await store.close()
