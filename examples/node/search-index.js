// Keeps an index of the words in a store's notes, by the feed of its changes: node search-index.js notes.twx index.twx [WORD...]
//
// Brings the index up to date, and lists the notes that have all the words; without words it stays up to date until it is stopped.
// The store's writer goes on meanwhile, in its own process. The index is a store of its own, and how far it is stands in it, written
// after the changes. To do changes again changes nothing, so it is right whenever this program is stopped.
import { changes, open } from 'twindex'

const [notesPath, indexPath, ...wanted] = process.argv.slice(2)

const index = await open(indexPath)
const words = index.table('words', { index: 'sorted', keys: 'tuple' }) // [word, note]
const texts = index.table('texts') // the notes as they are indexed
const place = index.table('place')

const wordsOf = (text) => new Set(text.toLowerCase().match(/\p{L}+/gu))

function put(batch, note, text) {
  remove(batch, note)
  for (const word of wordsOf(text)) batch.set(words, [word, note], '')
  batch.set(texts, note, text)
}

function remove(batch, note) {
  for (const word of wordsOf(texts.get(note) ?? '')) batch.delete(words, [word, note])
  batch.delete(texts, note)
}

/** Indexes all that is there; the changes since. */
async function begin() {
  const store = await open(notesPath, { readOnly: true })
  const notes = store.tables().some(([name]) => name === 'notes') ? store.table('notes') : new Map()
  index.batch((batch) => {
    for (const note of texts.keys()) if (!notes.has(note)) remove(batch, note)
    for (const [note, text] of notes) put(batch, note, text)
    batch.set(place, 'position', store.position)
  })
  await store.close()
}

function apply({ position, changes }) {
  for (const { kind, table, key, value } of changes) {
    if (table !== 'notes') continue
    // One after the other, since what is to be removed depends on what was put before. Done again, they change nothing.
    index.batch((batch) => {
      if (kind === 'put') put(batch, key, value)
      else if (kind === 'delete') remove(batch, key)
      else for (const note of texts.keys()) remove(batch, note)
    })
  }
  place.set('position', position)
}

async function follow(each) {
  if (!place.has('position')) await begin()
  const feed = changes(notesPath, place.get('position'))
  try {
    await each(feed)
  } catch (error) {
    if (error.code !== 'TWINDEX_POSITION_GONE') throw error
    console.error('the store was compacted since: all of it is read again')
    place.delete('position')
    await follow(each)
  }
}

async function upToDate(feed) {
  for (let batch = await feed.poll(); batch !== undefined; batch = await feed.poll()) apply(batch)
}

async function forEver(feed) {
  for await (const batch of feed) apply(batch)
}

await follow(wanted.length > 0 ? upToDate : forEver)
const found = wanted.map((word) =>
  Array.from(words.scan({ prefix: [word.toLowerCase()] }), ([[, note]]) => note),
)
for (const note of found[0].filter((each) => found.every((notes) => notes.includes(each)))) console.log(note)
await index.close()
