// The keys, in random order, and the values that belong to them.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Different random keys of hexadecimal digits. */
function randomKeys({ pairs, keyBytes }) {
  if (16 ** keyBytes < pairs * 2)
    throw new Error(`--key-bytes ${keyBytes} has too few keys for ${pairs} pairs`)
  const keys = new Set()
  while (keys.size < pairs) {
    const digits = randomBytes(keyBytes * 1024).toString('hex')
    for (let at = 0; at < digits.length && keys.size < pairs; at += keyBytes) {
      keys.add(flat(digits.slice(at, at + keyBytes)))
    }
  }
  return [...keys]
}

/** The different lines of a file, shuffled. */
function fileKeys({ pairs, keysFrom }) {
  const lines = new Set(readFileSync(keysFrom, 'utf8').split(/\r?\n/))
  lines.delete('')
  const keys = [...lines].slice(0, pairs).map(flat)
  if (keys.length === 0) throw new Error(`${keysFrom} has no keys`)
  return shuffled(keys)
}

/** A string of its own, not a part of a longer one. */
const flat = (text) => Buffer.from(text).toString()

/** The items in random order. */
export function shuffled(items) {
  const order = [...items]
  for (let left = order.length; left > 1; left--) {
    const at = Math.floor(Math.random() * left)
    ;[order[left - 1], order[at]] = [order[at], order[left - 1]]
  }
  return order
}

export const makeKeys = (options) => (options.keysFrom === null ? randomKeys(options) : fileKeys(options))

/** The value of a pair: the last digits of its number. */
export const valueFor = (number, bytes) =>
  bytes === 0 ? '' : flat(String(number).padStart(bytes, '0').slice(-bytes))
