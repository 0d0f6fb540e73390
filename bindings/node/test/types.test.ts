// Compiles where the typings are right: each line below `@ts-expect-error` has to be an error.

import { EventEmitter } from 'node:events'
import Keyv from 'keyv'
import {
  Batch,
  Cache,
  type Change,
  type ChangeSet,
  Changes,
  Cursor,
  changes,
  check,
  checkSync,
  DELETE,
  type ErrorCode,
  ExpiringTable,
  KEEP,
  open,
  openSync,
  recover,
  recoverSync,
  type Snapshot,
  type SnapshotTable,
  type SortedExpiringTable,
  type SortedTable,
  Store,
  Table,
  type Transaction,
  TwindexError,
  type Watch,
} from 'twindex'
import { sessionStore } from 'twindex/express-session'
import { KeyvTwindex } from 'twindex/keyv'
import { TwindexLevel } from 'twindex/level'

const store: Store = new Store({ shared: 'name', memoryLimit: 1 << 20 })
const texts: Table = store.table('texts')
texts.select('key') satisfies string | undefined
texts.insert('key', 'value') satisfies boolean
texts.set('a', 'b').set('c', 'd') satisfies Table
for (const [key, value] of texts) key.concat(value)

const log: SortedTable<'str', 'bytes'> = store.table('log', { index: 'sorted', values: 'bytes' })
log.select('key') satisfies Buffer | undefined
log.insert('key', new DataView(new ArrayBuffer(8)))
const cursor: Cursor<'str', 'bytes'> = log.cursor({ gte: 'a', lt: 'b' })
cursor.scanAscNext() satisfies [string, Buffer] | undefined
cursor.scanDescNextMany(10) satisfies [string, Buffer][]
for (const [key, value] of log.scan({ prefix: 'a', reverse: true, limit: 10 }))
  key.concat(value.toString('hex'))

const sessions = store.table('sessions', { expires: true, values: 'json' })
sessions.insert('key', { a: 1 }, { ttl: 1000 }) satisfies boolean
sessions.set('a', 1, { ttl: 5 }).touch('a', 5) satisfies boolean
sessions.ttl('a') satisfies number | undefined
const queue: SortedExpiringTable<'int', 'int'> = store.table('queue', {
  index: 'sorted',
  keys: 'int',
  values: 'int',
  expires: true,
})
queue.first() satisfies [number, number] | undefined
queue.increment(1, 2n, { ttl: 5 }) satisfies bigint
queue.removeExpired(10) satisfies number
store.table<{ id: number }>('typed', { values: 'json', expires: true }).get('a') satisfies
  | { id: number }
  | undefined
store.transaction((tx) => {
  const table = tx.table('sessions', { expires: true, values: 'int' })
  table.set('a', 1, { ttl: 5 }).touch('a') satisfies boolean
  table.increment('a', 1n, { ttl: 5 }) satisfies bigint
  tx.table('queue', { expires: true, index: 'sorted' }).popFirst() satisfies [string, string] | undefined
  // @ts-expect-error a transaction counts no pairs
  table.size
})
store.snapshot().table('queue', { expires: true, index: 'sorted' }).ttl('a') satisfies number | undefined
if (queue instanceof ExpiringTable) queue.touch(1)
// @ts-expect-error the pairs of this table stay
store.table('stays', { expires: false }).touch('a')

const results = new Cache({ max: 100, ttl: 1000, values: 'json' })
results.set('a', { any: ['thing'] }, { ttl: 10 }).set('a', undefined)
const strings: Cache<'str', 'str'> = new Cache({ capacity: 1 << 20, shared: 'strings' })
strings.get('a') satisfies string | undefined
strings.getOrCompute('a', async () => 'b') satisfies Promise<string>
const fetched = new Cache({ max: 1, values: 'int', fetchMethod: async (key: string) => key.length })
fetched.fetch('a', { forceRefresh: true }) satisfies Promise<number | undefined>
strings.getRemainingTTL('a') satisfies number
strings.ttl('a') satisfies number | undefined
new Cache({ max: 1, keys: 'int', onEvict: (key, _value, cause) => key.toFixed().concat(cause) })
for (const [key, value] of strings) key.concat(value)
// @ts-expect-error
strings.set('a', 1)
// @ts-expect-error
strings.set('a', 'b', { maxAge: 1 })
// @ts-expect-error
strings.set(1, 'b')
strings.shared satisfies string | undefined
const warm: Cache<'int', 'json'> = Cache.loadSync(results.dumpSync(), {
  max: 10,
  keys: 'int',
  values: 'json',
})
Cache.load('strings.twx', { ttl: 1 }) satisfies Promise<Cache>
warm.save(new URL('file:///strings.twx')) satisfies Promise<void>

const views = store.table('views', { keys: 'view', values: 'view' })
views.get(new Uint8Array(1)) satisfies Uint8Array | undefined
const json = store.table('json', { values: 'json' })
json.set('a', { any: ['thing', null] })
json.alter('a', (value) => (value === undefined ? { n: 1 } : { ...value, n: 2 }))
texts.alter('a', (value) => (value === '' ? DELETE : value === 'keep' ? KEEP : `${value}!`))
const packed = store.table('packed', { values: 'msgpack', create: false })
packed.set('a', new Map([[1, 2n]]))
packed.codecs.values satisfies string

const chosen = store.table('chosen', { index: process.argv[2] === 'sorted' ? 'sorted' : 'hash' })
if ('scan' in chosen) for (const [key] of chosen.scan()) key.concat('')

log.popFirst() satisfies [string, Buffer] | undefined
log.deleteRange({ lt: 'b' }) satisfies number
log.take('a') satisfies Buffer | undefined
cursor.seek('a')
cursor.key satisfies string | undefined
// @ts-expect-error
texts.first()
texts.increment('n') satisfies number
texts.increment('n', 1n) satisfies bigint
texts.incrementMany([['n', 1n]]) satisfies bigint[]
texts.compareAndSwap('a', null, 'b') satisfies boolean
texts.insertMany(new Map([['a', 'b']])) satisfies boolean[]
texts.selectMany(new Set(['a'])) satisfies (string | undefined)[]

interface User {
  name: string
  born?: number
}
const users = store.table<User>('users', { values: 'json' })
users.get('ada') satisfies User | undefined
users.set('ada', { name: 'Ada', born: 1815 }).alter('ada', (user) => ({ name: user?.name ?? '' }))
for (const [key, { name }] of users) key.concat(name)
// @ts-expect-error
users.set('ada', { born: 1815 })
const numbered = store.table<User, 'int'>('numbered', { index: 'sorted', keys: 'int', values: 'msgpack' })
for (const [key, { name }] of numbered.scan({ gte: 1 })) key.toFixed().concat(name)
// @ts-expect-error
store.table<User>('users', { values: 'int' })

{
  using snapshot: Snapshot = store.snapshot()
  snapshot.table('texts').get('a') satisfies string | undefined
  const then: SnapshotTable<'int', 'json'> = snapshot.table('numbers', { keys: 'int', values: 'json' })
  for (const [key] of then) key.toFixed()
  snapshot.table<User>('users', { values: 'json' }).get('ada') satisfies User | undefined
  for (const [key] of snapshot.table('log', { index: 'sorted' }).scan({ prefix: 'a' })) key.concat('')
  // @ts-expect-error
  then.set(1, {})
  snapshot.position satisfies string
  snapshot.store satisfies Store
}
store.transaction((tx) => tx.table('texts').get('a')) satisfies string | undefined
store.transaction(async (tx: Transaction) => {
  const users = tx.table<User>('users', { values: 'json' })
  users.alter('ada', (user) => user ?? DELETE)
  tx.table('log', { index: 'sorted', values: 'int' }).scan({ reverse: true }) satisfies Iterable<
    [string, number]
  >
  // @ts-expect-error
  users.clear()
  // @ts-expect-error a hash table cannot be iterated in a transaction
  users.keys()
  for (const [key] of tx.table('log', { index: 'sorted' })) key.concat('')
  return users.increment('n')
}) satisfies Promise<number>

store.memoryLimit = null
store.memoryLimit satisfies number | undefined
store.tables() satisfies [name: string, index: 'hash' | 'sorted'][]
const dump: Buffer = store.dumpSync()
store.saveSync(new URL('file:///a.twx'))
store.save('a.twx', {
  signal: AbortSignal.timeout(1),
  progress: ({ pairs }) => pairs,
}) satisfies Promise<void>
openSync('a.twx', { durability: 'always', readOnly: true, existing: true, memoryLimit: null }) satisfies Store
open('a.twx', { progress: ({ bytes }) => bytes.toFixed() }) satisfies Promise<Store>
check('a.twx').then((report) => report.damage.map(({ what }) => what)) satisfies Promise<string[]>
recover('a', 'b').then((recovery) => recovery.tables.map(({ name }) => name)) satisfies Promise<string[]>

const scores = store.table('scores', { index: 'sorted', keys: 'tuple', values: 'int' })
scores.set(['ada', 2026, [null, 1n]], 1)
scores.get(['ada']) satisfies number | undefined
const dates = store.table('dates', {
  keys: {
    name: 'date',
    encode: (date: Date) => date.toJSON(),
    decode: (text: string) => new Date(text),
    format: 'str',
  },
})
dates.set(new Date(), '')
Array.from(dates.keys())[0] satisfies Date | undefined
store.batch().set(scores, ['ada'], 2).insert(dates, new Date(), 'b').delete(texts, 'c') satisfies Batch
store.batch((each) => {
  each.replace(scores, [1.5], 3)
}) satisfies boolean[]
Store.loadSync(dump, { memoryLimit: 1 << 20 }) satisfies Store
Store.load('a.twx', { memoryLimit: null, progress: ({ bytes }) => bytes }) satisfies Promise<Store>
texts.store.dump({ signal: AbortSignal.timeout(1) }) satisfies Promise<Buffer>
checkSync('a.twx').damage.length satisfies number
recoverSync('a', 'b').tables.length satisfies number
new TwindexError('TWINDEX_IO', 'no').code satisfies ErrorCode
using _scoped: Store = Store.loadSync('a.twx')

const level = new TwindexLevel<string, { n: number }>('a.twx', {
  valueEncoding: 'json',
  durability: 'always',
})
level.sublevel<string, { n: number }>('s', {}).get('a') satisfies Promise<{ n: number } | undefined>
new Keyv({ store: new KeyvTwindex({ path: 'a.twx', table: 'cache' }) })

store.refresh({ signal: AbortSignal.timeout(1) }) satisfies Promise<number>
store.follow() satisfies Promise<void>
store.stats().behindBytes satisfies number
const feed: Changes = store.changes(store.position, { tables: [texts, log], ref: false })
changes('a.twx', undefined, { raw: true }).poll() satisfies Promise<ChangeSet | undefined>
const watch: Watch = texts.watch('user:', { maxChanges: 10, capacity: 1 << 20, ref: false })
for await (const change of watch) {
  if (change.kind === 'put') change.value.concat(change.key)
  if (change.kind === 'lost') change.count satisfies number
}
// @ts-expect-error
texts.watch(1)
for await (const { position, changes } of feed) {
  position.concat(feed.position ?? '')
  for (const change of changes) {
    if (change.kind === 'put') [change.key, change.value] satisfies unknown[]
    else if (change.kind === 'create') change.index.concat(change.codecs.values)
  }
}
store.on('warning', ({ event, message }) => event === 'slow_sync' && message.length).off('warning', () => {})
feed.next().then(({ value }) => value?.changes[0]) satisfies Promise<Change | undefined>

// @ts-expect-error a change that gives nothing
texts.alter('a', () => undefined)
// @ts-expect-error a codec of one's own has a name
store.table('other', { values: { encode: String, decode: String } })
// @ts-expect-error a change gives a string, DELETE or KEEP
texts.alter('a', () => 42)
// @ts-expect-error a key is a string
texts.insert(42, 'value')
// @ts-expect-error a value is a string
texts.insert('key', Buffer.from('value'))
// @ts-expect-error a hash table has no cursor
texts.cursor()
// @ts-expect-error a hash table has no scan
store.table('hash', { index: 'hash' }).scan()
// @ts-expect-error no such index
store.table('other', { index: 'btree' })
// @ts-expect-error keys are no JSON
store.table('other', { keys: 'json' })
// @ts-expect-error no such option
log.scan({ from: 'a' })
// @ts-expect-error bounds are keys
log.scan({ gt: Buffer.from('a') })
// @ts-expect-error tables come from a store
new Table()
// @ts-expect-error cursors come from a table
new Cursor()
// @ts-expect-error of this table's keys
store.batch().set(scores, 'ada', 2)
// @ts-expect-error no fraction of a day
dates.set('2026', '')
// @ts-expect-error no such durability
openSync('a.twx', { durability: 'daily' })
// @ts-expect-error nothing waits for it
openSync('a.twx', { signal: AbortSignal.timeout(1) })
// @ts-expect-error batches come from a store
new Batch()
// @ts-expect-error no such event
store.on('error', () => {})
// @ts-expect-error feeds come from a store
new Changes()
// @ts-expect-error no such option
store.changes(undefined, { from: 1 })
// @ts-expect-error read only
store.memory = 1

/** As the typings of express-session have it. */
declare abstract class SessionStore extends EventEmitter {
  abstract get(id: string, done: (error: unknown, session?: object | null) => void): void
}
const Sessions = sessionStore({ Store: SessionStore })
new Sessions({ max: 100, ttl: 0 }) satisfies SessionStore
