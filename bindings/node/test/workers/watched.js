// Writes what the main thread watches.
import { Store } from 'twindex'

const numbers = new Store({ shared: 'watched' }).table('numbers', { keys: 'int', values: 'int' })
for (let key = 0; key < 200; key++) numbers.set(key, key)
setInterval(() => {}, 1000)
