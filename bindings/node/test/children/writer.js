// A process that writes numbers to the file that it is told, and says each that it has written. How it ends: `exit` ends
// it at once, `throw` by an error, `open` by itself with the store open, `kill` never.
import { writeSync } from 'node:fs'
import { openSync } from 'twindex'

const [path, durability, end] = process.argv.slice(2)
const store = openSync(path, { durability })
const table = store.table('t', { keys: 'int', values: 'int' })
const limit = end === 'kill' ? Number.POSITIVE_INFINITY : table.size + 500
for (let number = table.size; number < limit; number++) {
  table.set(number, number)
  writeSync(1, `${number}\n`)
}
if (end === 'exit') process.exit(0)
if (end === 'throw') throw new Error('as it was told')
