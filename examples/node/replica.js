// Copies a store to another file and stays in step with it: node replica.js source.twx copy.twx [--once]
//
// It can be stopped at any time, and goes on where it was: how far it is stands in the copy, and changes with it. The copy is a store
// like any other, which others may follow or read.
import { changes, open } from 'twindex'

const once = process.argv.includes('--once')
const [source, target] = process.argv.slice(2).filter((argument) => argument !== '--once')

const CODECS = ['bytes', 'str', 'int', 'tuple', 'json', 'msgpack']

/** A codec of the source's user: the copy need not understand it. */
const foreign = (name) => ({ name, encode: (bytes) => bytes, decode: (bytes) => bytes })
const codec = (name) => (CODECS.includes(name) ? name : foreign(name))

/** The table of a change, as bytes whatever its codecs. */
function seenAsBytes(store, name) {
  const [, index] = store.tables().find(([table]) => table === name)
  return store.table(name, { index, keys: 'bytes', values: 'bytes' })
}

/** Does what a batch of changes did. Applying one twice is harmless. */
function apply(store, { position, changes }) {
  store.batch((batch) => {
    for (const { kind, table, key, value, index, codecs } of changes) {
      if (kind === 'create' || kind === 'drop') store.dropTable(table)
      if (kind === 'create')
        store.table(table, { index, keys: codec(codecs.keys), values: codec(codecs.values) })
      else if (kind === 'clear') seenAsBytes(store, table).clear()
      else if (kind === 'put') batch.set(seenAsBytes(store, table), key, value)
      else if (kind === 'delete') batch.delete(seenAsBytes(store, table), key)
    }
    batch.set(store.table('replica'), 'position', position)
  })
}

/** Copies all that is there. */
async function begin() {
  const store = await open(source, { readOnly: true })
  await store.save(target)
  const copy = await open(target)
  copy.table('replica').set('position', store.position)
  await store.close()
  return copy
}

/** The copy, and the changes that are not in it yet. */
async function follow() {
  const copy = await open(target)
  const position = copy.table('replica').get('position')
  if (position !== undefined) {
    const feed = changes(source, position, { raw: true })
    try {
      return { copy, feed, first: await feed.poll() }
    } catch (error) {
      if (error.code !== 'TWINDEX_POSITION_GONE') throw error
      console.error('the source was compacted since: all of it is copied again')
    }
  }
  await copy.close()
  const anew = await begin()
  return { copy: anew, feed: changes(source, anew.table('replica').get('position'), { raw: true }) }
}

const { copy, feed, first } = await follow()
if (first !== undefined) apply(copy, first)
if (once) {
  for (let batch = await feed.poll(); batch !== undefined; batch = await feed.poll()) apply(copy, batch)
} else {
  for await (const batch of feed) apply(copy, batch)
}
await copy.close()
