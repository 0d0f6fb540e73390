// Takes memory in one way until there is no more. Run with little address space.
const { Store } = require('twindex')

const store = new Store()
const table = store.table('t')
const sorted = store.table('sorted', { index: 'sorted' })
const batch = store.batch()
const text = 'x'.repeat(1000)
const dumps = []
const pairs = (at) => Array.from({ length: 1000 }, (_, each) => [`${at}.${each}`, text])
const ways = {
  set: (at) => table.set(`k${at}`, text),
  sorted: (at) => sorted.set(`k${at}`, text),
  upsertMany: (at) => table.upsertMany(pairs(at)),
  tables: (at) => store.table(`t${at}`).set('a', 'b'),
  batch: (at) => batch.set(table, `k${at}`, text),
  transaction: () =>
    store.transaction((tx) => {
      const own = tx.table('sorted')
      for (let at = 0; ; at++) own.set(`k${at}`, text)
    }),
  dump(at) {
    if (at < 100) table.upsertMany(pairs(at))
    else dumps.push(store.dumpSync())
  },
}

try {
  for (let at = 0; ; at++) ways[process.argv[2]](at)
} catch (error) {
  // What gives memory back goes on.
  table.delete('k0')
  table.clear()
  store.dropTable('sorted')
  store.closeSync()
  console.log(error.code)
}
