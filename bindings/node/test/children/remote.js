// A process that has a store open and does what it is told, a line of JSON for each: `["set", "a", "1"]`. It answers each with
// what came of it.
import { createInterface } from 'node:readline'
import { openSync } from 'twindex'

const [path, durability] = process.argv.slice(2)
const store = openSync(path, { durability })
const users = () => store.table('users')

const verbs = {
  set: (key, value) => users().set(key, value) && null,
  both: (value) =>
    store.batch((batch) => {
      batch.set(users(), 'one', value).set(users(), 'two', value)
    }),
  many: (count) =>
    users().upsertMany(Array.from({ length: count }, (_, at) => [`key ${at}`, 'x'.repeat(100)])).length,
  put: (name, options, key, value) => store.table(name, options).upsert(key, value),
  drop: (name) => store.dropTable(name),
  compact: () => store.compactSync() ?? null,
  position: () => store.position,
}

process.stdout.write('null\n')
for await (const line of createInterface(process.stdin)) {
  const [verb, ...rest] = JSON.parse(line)
  process.stdout.write(`${JSON.stringify(verbs[verb](...rest))}\n`)
}
