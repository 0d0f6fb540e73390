// Completes words as they are typed, the most frequent first, from a sorted table of words and their counts.
// In a browser the same lines run as they are, with the text of an input element.
//
//   node examples/wasm/autocomplete.mjs th st

import { load } from '../../wasm/npm/index.js' // from outside this repository: 'twindex-wasm'

const { Store } = await load()
const words = new Store().table('words', { index: 'sorted' })

const text = `The store holds the tables, and the tables hold the pairs. Those that stay sorted are
scanned in the order of their keys; the rest are found one by one. Then the store starts again.`
for (const word of text.toLowerCase().match(/\p{L}+/gu)) words.increment(word)

/** The most frequent words that start with these letters. */
function complete(letters, most = 3) {
  const found = [...words.scan({ prefix: letters })].map(([word, count]) => ({ word, count: Number(count) }))
  return found.sort((a, b) => b.count - a.count).slice(0, most)
}

const typed = process.argv.length > 2 ? process.argv.slice(2) : ['th', 'st']
for (const letters of typed) {
  const shown = complete(letters).map(({ word, count }) => `${word} (${count})`)
  console.log(`${letters}: ${shown.join(', ')}`)
}
