// The typings as `require` finds them.
import twindex = require('twindex')

const store: twindex.Store = new twindex.Store()
const table: twindex.Table<'buffer', 'json'> = store.table('t', { keys: 'buffer', values: 'json' })
table.set(Buffer.from('a'), [1, 2])
store.close()
