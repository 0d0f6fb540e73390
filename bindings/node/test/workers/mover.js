// Moves money between the accounts of a shared store, each time in a transaction.
import { workerData } from 'node:worker_threads'
import { Store } from 'twindex'

const store = new Store({ shared: workerData.shared })
const any = () => `account-${Math.floor(Math.random() * 10)}`
for (let move = 0; move < workerData.moves; move++) {
  const [from, to] = [any(), any()]
  store.transaction((tx) => {
    const accounts = tx.table('accounts')
    const left = accounts.get(from) - 7
    if (left < 0) return
    accounts.set(from, left)
    accounts.increment(to, 7)
  })
}
