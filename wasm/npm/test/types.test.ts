// Compiles where the typings are right: each line below `@ts-expect-error` has to be an error.
import {
  type Cursor,
  DELETE,
  type ErrorCode,
  KEEP,
  load,
  type SortedTable,
  type Store,
  type Table,
  TwindexError,
} from 'twindex-wasm'

const twindex = await load(new URL('https://example.org/twindex.wasm'))

const store: Store = new twindex.Store({ memoryLimit: 1 << 20 })
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

const views = store.table('views', { keys: 'view', values: 'view' })
const view: Uint8Array | undefined = views.get(new Uint8Array(1))
const json = store.table('json', { values: 'json' })
json.set('a', { any: ['thing', null] })
json.alter('a', (value) => (value === undefined ? { n: 1 } : { ...value, n: 2 }))
texts.alter('a', (value) => (value === '' ? DELETE : value === 'keep' ? KEEP : twindex.KEEP))
store.table('packed', { values: 'msgpack', create: false }).set('a', new Map([[1, 2n]]))

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
const dump: Uint8Array = store.dumpSync()
const later: Promise<Uint8Array> = texts.store.dump()
const again: Store = twindex.Store.loadSync(dump, { memoryLimit: 1 << 20 })
const loaded: Promise<Store> = twindex.Store.load(dump)
const code: ErrorCode = new TwindexError('TWINDEX_TYPE', 'no').code
using scoped: Store = new twindex.Store()

// @ts-expect-error a change that gives nothing
texts.alter('a', () => undefined)
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
new twindex.Table()
// @ts-expect-error cursors come from a table
new twindex.Cursor()
// @ts-expect-error the classes come with an instance
new Store()
// @ts-expect-error there are no threads to share with
new twindex.Store({ shared: 'name' })
// @ts-expect-error there are no files
store.save('a.twx')
// @ts-expect-error read only
store.memory = 1

export {
  again,
  big,
  bigs,
  buffer,
  chained,
  code,
  found,
  later,
  limit,
  loaded,
  many,
  pair,
  pairs,
  scoped,
  sum,
  swapped,
  tables,
  text,
  took,
  view,
}
