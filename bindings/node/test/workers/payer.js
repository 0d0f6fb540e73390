// A thread that makes payments between the accounts of a store.
import { workerData } from 'node:worker_threads'
import { openSync, Store } from 'twindex'

const { path, shared, payments } = workerData
const store = path === undefined ? new Store({ shared }) : openSync(path)
const accounts = store.table('accounts', { values: 'int' })
const names = [...accounts.keys()]

/** Pays if there is enough; when another thread was quicker, it looks again. */
function pay(from, to, amount) {
  for (let money = accounts.get(from); money >= amount; money = accounts.get(from)) {
    const batch = store.batch().expect(accounts, from, money)
    batch.increment(accounts, from, -amount).increment(accounts, to, amount)
    try {
      batch.commit()
      return
    } catch (error) {
      if (error.code !== 'TWINDEX_UNEXPECTED') throw error
    }
  }
}

for (let number = 0; number < payments; number++) {
  const from = Math.floor(Math.random() * names.length)
  const to = (from + 1 + Math.floor(Math.random() * (names.length - 1))) % names.length
  pay(names[from], names[to], 1 + Math.floor(Math.random() * 60))
}
store.closeSync()
