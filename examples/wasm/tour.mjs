// One program in four languages. The module keeps no file by itself, so a transaction stands for the batch, and a watch for the feed.

import { load } from '../../wasm/npm/caches.js' // from outside this repository: 'twindex-wasm/caches'

const { Cache, Store } = await load()
const store = new Store()

const users = store.table('users', { values: 'json' })
users.insert('ada', { born: 1815 })
users.insert('ada', { born: 1852 }) // changes nothing: the key is there
console.log(`table: ${users.size} user, born ${users.select('ada').born}`)

const log = store.table('log', { index: 'sorted' })
log.upsertMany(Object.entries({ '2026-11-02': 'b', '2026-11-01': 'a', '2025-12-31': 'z' }))
for (const [day, text] of log.prefix('2026-')) console.log(`scan: ${day} ${text}`)

const accounts = store.table('accounts', { values: 'int' })
const watch = accounts.watch()
const writes = store.transaction((tx) => {
  const table = tx.table('accounts')
  return table.upsertMany(Object.entries({ ada: 70, bob: 30 }))
})
console.log(`batch: ${writes.length} writes`)

for (const _ of writes) {
  const { kind, key, value } = watch.poll()
  console.log(`feed: ${kind} ${key} ${value}`)
}
watch.close()

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
