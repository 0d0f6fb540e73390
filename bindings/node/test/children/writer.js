// A process that writes numbers to the file that it is told, and says each that it has written. How it ends: `exit` ends
// it at once, `throw` by an error, `open` by itself with the store open, `closed` at once, with a file that only its closing writes.
import { writeSync } from 'node:fs'
import { openSync } from 'twindex'

const [path, end] = process.argv.slice(2)
const store = openSync(path, { durability: end === 'closed' ? 'none' : 'everysec' })
if (end === 'closed') process.on('exit', () => store.closeSync())
const table = store.table('t', { keys: 'int', values: 'int' })
for (let number = 0; number < 500; number++) {
  table.set(number, number)
  writeSync(1, `${number}\n`)
}
if (end === 'exit' || end === 'closed') process.exit(0)
if (end === 'throw') throw new Error('as it was told')
