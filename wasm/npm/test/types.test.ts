// Compiles where the typings are right: each line below `@ts-expect-error` has to be an error. Those of tables, cursors and caches
// are Node's too, whose tests have all of them.
import {
  DELETE,
  type ErrorCode,
  KEEP,
  load,
  type Snapshot,
  type SortedTable,
  type Store,
  type Table,
  TwindexError,
} from 'twindex-wasm'
import { connect } from 'twindex-wasm/browser'
import wasm from 'twindex-wasm/twindex.wasm'

await load(wasm)
const twindex = await load(new URL('https://example.org/twindex.wasm'))

const store: Store = new twindex.Store({ memoryLimit: 1 << 20 })
const texts: Table = store.table('texts')
texts.select('key') satisfies string | undefined
texts.set('a', 'b').set('c', 'd') satisfies Table
for (const [key, value] of texts) key.concat(value)

const log: SortedTable<'str', 'bytes'> = store.table('log', { index: 'sorted', values: 'bytes' })
log.select('key') satisfies Buffer | undefined
log.cursor({ gte: 'a', lt: 'b' }).scanAscNext() satisfies [string, Buffer] | undefined
for (const [key, value] of log.scan({ prefix: 'a', reverse: true, limit: 10 }))
  key.concat(value.toString('hex'))
texts.alter('a', (value) => (value === '' ? DELETE : value === 'keep' ? KEEP : twindex.KEEP))

const chosen = store.table('chosen', { index: process.argv[2] === 'sorted' ? 'sorted' : 'hash' })
if ('scan' in chosen) for (const [key] of chosen.scan()) key.concat('')

store.memoryLimit = null
store.memoryLimit satisfies number | undefined
store.tables() satisfies [name: string, index: 'hash' | 'sorted'][]
const dump: Uint8Array = store.dumpSync()
texts.store.dump() satisfies Promise<Uint8Array>
twindex.Store.loadSync(dump, { memoryLimit: 1 << 20 }) satisfies Store
twindex.Store.load(dump) satisfies Promise<Store>
new TwindexError('TWINDEX_TYPE', 'no').code satisfies ErrorCode
{
  using snapshot: Snapshot = store.snapshot()
  snapshot.store satisfies Store
  snapshot.table('texts').get('a') satisfies string | undefined
}
store.transaction((tx) => tx.table('texts').increment('n')) satisfies number
store.stats().keptBytes satisfies number
using scoped: Store = new twindex.Store()
scoped.closed satisfies boolean

await using shared = await connect('app', { timeout: 1000 })
const visits = await shared.table('visits', { index: 'sorted', values: 'int' })
visits.set('a', 1) satisfies Promise<boolean>
visits.get('a') satisfies number | undefined
visits.popFirst() satisfies Promise<[string, number] | undefined>
visits.increment('a', 2n) satisfies Promise<bigint>
visits.alter('a', (value) => (value === undefined ? KEEP : value + 1)) satisfies Promise<boolean>
shared.transaction(async (tx) =>
  tx.table('visits', { values: 'int' }).increment('a'),
) satisfies Promise<number>
// @ts-expect-error a write of a connected store is a promise
visits.insert('a', 1) satisfies boolean
// @ts-expect-error it has no option of this name
connect('app', { wait: true })

// @ts-expect-error a value is a string
texts.insert('key', Buffer.from('value'))
// @ts-expect-error a hash table has no cursor
texts.cursor()
// @ts-expect-error no such option
log.scan({ from: 'a' })
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
