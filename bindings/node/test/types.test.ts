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
  KEEP,
  open,
  openSync,
  recover,
  recoverSync,
  type SortedTable,
  Store,
  Table,
  TwindexError,
} from 'twindex'
import { sessionStore } from 'twindex/express-session'
import { KeyvTwindex } from 'twindex/keyv'
import { TwindexLevel } from 'twindex/level'

const store: Store = new Store({ shared: 'name', memoryLimit: 1 << 20 })
const texts: Table = store.table('texts')
const text: string | undefined = texts.select('key')
const took: boolean = texts.insert('key', 'value')
const chained: Table = texts.set('a', 'b').set('c', 'd')
for (const [key, value] of texts) key.concat(value)

const log: SortedTable<'str', 'bytes'> = store.table('log', { index: 'sorted', values: 'bytes' })
const buffer: Buffer | undefined = log.select('key')
log.insert('key', new DataView(new ArrayBuffer(8)))
const cursor: Cursor<'str', 'bytes'> = log.cursor({ gte: 'a', lt: 'b' })
const pair: [string, Buffer] | undefined = cursor.scanAscNext()
const pairs: [string, Buffer][] = cursor.scanDescNextMany(10)
for (const [key, value] of log.scan({ prefix: 'a', reverse: true, limit: 10 }))
  key.concat(value.toString('hex'))

const results = new Cache({ max: 100, ttl: 1000 })
results.set('a', { any: ['thing'] }, { ttl: 10 }).set('a', undefined)
const strings: Cache<'str', 'str'> = store.cache('strings', { maxSize: 1 << 20 })
const cachedText: string | undefined = strings.get('a')
const inTime: Promise<string> = strings.getOrCompute('a', async () => 'b')
const fetched = new Cache({ max: 1, values: 'int', fetchMethod: async (key: string) => key.length })
const fetchedLength: Promise<number | undefined> = fetched.fetch('a', { forceRefresh: true })
const left: number = strings.getRemainingTTL('a')
for (const [key, value] of strings) key.concat(value)
// @ts-expect-error
strings.set('a', 1)
// @ts-expect-error
strings.set('a', 'b', { maxAge: 1 })
// @ts-expect-error
strings.set(1, 'b')
const ofCache: Store | undefined = strings.store
const warm: Cache<'int', 'json'> = Cache.loadSync(results.dumpSync(), {
  max: 10,
  keys: 'int',
  values: 'json',
})
const warmLater: Promise<Cache<'str', 'str'>> = store.loadCache('warm', 'strings.twx', { ttl: 1 })
const savedCache: Promise<void> = warm.save(new URL('file:///strings.twx'))

const views = store.table('views', { keys: 'view', values: 'view' })
const view: Uint8Array | undefined = views.get(new Uint8Array(1))
const json = store.table('json', { values: 'json' })
json.set('a', { any: ['thing', null] })
json.alter('a', (value) => (value === undefined ? { n: 1 } : { ...value, n: 2 }))
texts.alter('a', (value) => (value === '' ? DELETE : value === 'keep' ? KEEP : `${value}!`))
const packed = store.table('packed', { values: 'msgpack', create: false })
packed.set('a', new Map([[1, 2n]]))
const valuesCodec: string = packed.codecs.values

const chosen = store.table('chosen', { index: process.argv[2] === 'sorted' ? 'sorted' : 'hash' })
if ('scan' in chosen) for (const [key] of chosen.scan()) key.concat('')

const sum: number = texts.increment('n')
const big: bigint = texts.increment('n', 1n)
const bigs: bigint[] = texts.incrementMany([['n', 1n]])
const swapped: boolean = texts.compareAndSwap('a', null, 'b')
const many: boolean[] = texts.insertMany(new Map([['a', 'b']]))
const found: (string | undefined)[] = texts.selectMany(new Set(['a']))

store.memoryLimit = null
const limit: number | undefined = store.memoryLimit
const tables: [name: string, index: 'hash' | 'sorted'][] = store.tables()
const dump: Buffer = store.dumpSync()
store.saveSync(new URL('file:///a.twx'))
const saved: Promise<void> = store.save('a.twx', {
  signal: AbortSignal.timeout(1),
  progress: ({ pairs }) => pairs,
})
const durable: Store = openSync('a.twx', {
  durability: 'always',
  readOnly: true,
  existing: true,
  memoryLimit: null,
})
const opened: Promise<Store> = open('a.twx', { progress: ({ bytes }) => bytes.toFixed() })
const damage: Promise<string[]> = check('a.twx').then((report) => report.damage.map(({ what }) => what))
const names: Promise<string[]> = recover('a', 'b').then((recovery) => recovery.tables.map(({ name }) => name))

const scores = store.table('scores', { index: 'sorted', keys: 'tuple', values: 'int' })
scores.set(['ada', 2026, [null, 1n]], 1)
const best: number | undefined = scores.get(['ada'])
const dates = store.table('dates', {
  keys: {
    name: 'date',
    encode: (date: Date) => date.toJSON(),
    decode: (text: string) => new Date(text),
    format: 'str',
  },
})
dates.set(new Date(), '')
const date: Date | undefined = [...dates.keys()][0]
const batch: Batch = store.batch().set(scores, ['ada'], 2).insert(dates, new Date(), 'b').delete(texts, 'c')
const done: boolean[] = store.batch((each) => {
  each.replace(scores, [1.5], 3)
})
const again: Store = Store.loadSync(dump, { memoryLimit: 1 << 20 })
const loaded: Promise<Store> = Store.load('a.twx', { memoryLimit: null, progress: ({ bytes }) => bytes })
const later: Promise<Buffer> = texts.store.dump({ signal: AbortSignal.timeout(1) })
const sound: boolean = checkSync('a.twx').damage.length === 0 && recoverSync('a', 'b').tables.length > 0
const code: ErrorCode = new TwindexError('TWINDEX_IO', 'no').code
using scoped: Store = Store.loadSync('a.twx')

const level = new TwindexLevel<string, { n: number }>('a.twx', {
  valueEncoding: 'json',
  durability: 'always',
})
const leveled: Promise<{ n: number } | undefined> = level.sublevel<string, { n: number }>('s', {}).get('a')
const cache: Keyv = new Keyv({ store: new KeyvTwindex({ path: 'a.twx', table: 'cache' }) })

const refreshed: Promise<number> = store.refresh({ signal: AbortSignal.timeout(1) })
const followed: Promise<void> = store.follow()
const behind: number = store.stats().behindBytes
const feed: Changes = store.changes(store.position, { tables: [texts, log], ref: false })
const ahead: Promise<ChangeSet | undefined> = changes('a.twx', undefined, { raw: true }).poll()
async function keys(): Promise<unknown[]> {
  const seen: unknown[] = []
  for await (const batch of feed) {
    for (const change of batch.changes) {
      if (change.kind === 'put') seen.push([change.key, change.value])
      else if (change.kind === 'create') seen.push(change.index.concat(change.codecs.values))
    }
    if (batch.position === feed.position) break
  }
  return seen
}
store.on('warning', ({ event, message }) => event === 'slow_sync' && message.length).off('warning', () => {})
const first: Promise<Change | undefined> = feed.next().then(({ value }) => value?.changes[0])

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
const sessions: SessionStore = new Sessions({ max: 100, ttl: 0 })

export {
  again,
  ahead,
  batch,
  behind,
  best,
  big,
  bigs,
  buffer,
  cache,
  cachedText,
  chained,
  code,
  damage,
  date,
  done,
  durable,
  fetchedLength,
  first,
  followed,
  found,
  inTime,
  keys,
  later,
  left,
  leveled,
  limit,
  loaded,
  many,
  names,
  ofCache,
  opened,
  pair,
  pairs,
  refreshed,
  saved,
  savedCache,
  scoped,
  sessions,
  sound,
  sum,
  swapped,
  tables,
  text,
  took,
  valuesCodec,
  view,
  warmLater,
}
