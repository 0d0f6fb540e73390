// Which words are in which files, found by all processors: `node word-index.js PREFIX FILE...` prints the words that
// begin with PREFIX, how often each is there, and in which files.
//
// All threads write into one store. Keys are `word TAB file`, so one scan has a word with all its files.
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { Store } from 'twindex'

const store = new Store({ shared: 'word index' })
const counts = store.table('counts', { index: 'sorted' })

/** Adds the words of a file. */
function addFile(file) {
  const words = new Map()
  const text = readFileSync(file, 'utf8').toLowerCase()
  for (const [word] of text.matchAll(/\p{L}+/gu)) {
    words.set(word, (words.get(word) ?? 0) + 1)
  }
  counts.incrementMany(Array.from(words, ([word, count]) => [`${word}\t${file}`, count]))
}

/** Runs this very file in another thread, on some of the files. */
function runThread(files) {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL(import.meta.url), { workerData: files })
    thread.once('error', reject)
    thread.once('exit', resolve)
  })
}

/** Prints the words that begin with `prefix`, in order. */
function print(prefix) {
  const words = new Map()
  for (const [key, count] of counts.scan({ prefix })) {
    const [word, file] = key.split('\t')
    const found = words.get(word) ?? { count: 0, files: [] }
    words.set(word, { count: found.count + Number(count), files: [...found.files, file] })
  }
  for (const [word, { count, files }] of words) console.log(`${word} ${count} ${files.join(' ')}`)
}

if (isMainThread) {
  const [prefix, ...files] = process.argv.slice(2)
  if (files.length === 0) throw new Error('usage: node word-index.js PREFIX FILE...')
  const threads = Math.min(availableParallelism(), files.length)
  const shares = Array.from({ length: threads }, (_, at) => files.filter((_, file) => file % threads === at))
  await Promise.all(shares.map(runThread))
  print(prefix.toLowerCase())
} else {
  workerData.forEach(addFile)
}
