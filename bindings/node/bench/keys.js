// The keys, in memory that all workers see: `text` has them one after the other, in random order; key `i` ends at
// `ends[i]`. `sorted` has their numbers in the order of their bytes.
import { randomFillSync, randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Different random keys of hexadecimal digits. */
function randomKeys({ pairs, keyBytes }) {
  if (16 ** keyBytes < pairs * 2)
    throw new Error(`--key-bytes ${keyBytes} has too few keys for ${pairs} pairs`)
  const keys = new Set()
  const bytes = Buffer.alloc(Math.ceil(keyBytes / 2) * 4096)
  while (keys.size < pairs) {
    const digits = randomFillSync(bytes).toString('hex')
    for (let at = 0; at + keyBytes <= digits.length && keys.size < pairs; at += keyBytes) {
      keys.add(digits.slice(at, at + keyBytes))
    }
  }
  return [...keys]
}

/** The different lines of a file, shuffled. */
function fileKeys({ pairs, keysFrom }) {
  const lines = new Set(readFileSync(keysFrom, 'utf8').split(/\r?\n/))
  lines.delete('')
  const keys = [...lines].slice(0, pairs)
  if (keys.length === 0) throw new Error(`${keysFrom} has no keys`)
  shuffle(keys)
  return keys
}

/** Puts the items into random order. */
export function shuffle(items) {
  for (let left = items.length; left > 1; left--) {
    const at = left < 2 ** 24 ? Math.floor(Math.random() * left) : randomInt(left)
    const item = items[left - 1]
    items[left - 1] = items[at]
    items[at] = item
  }
}

const shared = (Type, length) => new Type(new SharedArrayBuffer(length * Type.BYTES_PER_ELEMENT))

export function makeKeys(options) {
  const keys = options.keysFrom === null ? randomKeys(options) : fileKeys(options)
  if (options.threads.some((threads) => threads > keys.length)) {
    throw new Error(`${keys.length} keys are too few for --threads ${options.threads}`)
  }
  const encoded = keys.map((key) => Buffer.from(key))
  const ends = shared(Uint32Array, keys.length)
  const text = shared(
    Uint8Array,
    encoded.reduce((sum, { length }) => sum + length, 0),
  )
  let end = 0
  encoded.forEach((key, at) => {
    text.set(key, end)
    end += key.length
    ends[at] = end
  })
  const sorted = shared(Uint32Array, keys.length)
  sorted.set(encoded.map((_, at) => at).sort((a, b) => Buffer.compare(encoded[a], encoded[b])))
  return { count: keys.length, text, ends, sorted }
}
