// Compiles where the typings are right: each line below `@ts-expect-error` has to be an error.

import { connect, type SortedTable, type Store, type Table } from '@twindex/cluster'

interface User {
  name: string
  born?: number
}

await using store: Store = await connect('redis://localhost:7000', { nearCache: 1 << 20 })
const texts: Table = await store.table('texts')
texts.select('key') satisfies Promise<string | undefined>
texts.insert('key', 'value', { ttl: 1000 }) satisfies Promise<boolean>
texts.size satisfies Promise<number>
texts.increment('n') satisfies Promise<number>
texts.incrementMany([['n', 1n]]) satisfies Promise<bigint[]>
const users = await store.table<User>('users', { values: 'json' })
users.select('ada') satisfies Promise<User | undefined>
users.alter('ada', async (user) => ({ name: user?.name ?? '', born: 1815 }))
for await (const [key, { name }] of users) key.concat(name)
const log: SortedTable<'int', 'bytes'> = await store.table('log', {
  index: 'sorted',
  keys: 'int',
  values: 'bytes',
})
for await (const [key, value] of log.scan({ gte: 1, limit: 10 })) key.toFixed().concat(value.toString('hex'))
log.cursor({ lt: 5 }).scanAscNext() satisfies Promise<[number, Buffer] | undefined>
const numbered = await store.table<User, 'int'>('numbered', {
  index: 'sorted',
  keys: 'int',
  values: 'msgpack',
})
numbered.selectMany([1, 2]) satisfies Promise<(User | undefined)[]>
store.batch((batch) => {
  batch.insert(users, 'ada', { name: 'Ada' }).upsert(log, 1, Buffer.alloc(1)).increment(texts, 'n', 2n)
  // @ts-expect-error a key of this table is a number
  batch.delete(log, '1')
}) satisfies Promise<boolean[]>

// @ts-expect-error a user has a name
users.upsert('ada', { born: 1815 })
// @ts-expect-error a hash table has no scan
users.scan()
// @ts-expect-error bounds are keys
log.scan({ gt: 'a' })
// @ts-expect-error no such index
store.table('other', { index: 'btree' })
// @ts-expect-error keys are no JSON
store.table('other', { keys: 'json' })
