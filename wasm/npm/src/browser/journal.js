// Writes down what the calls of the module change: it stands between the classes and the module's exports.

import { ABSENT } from '../core.js'
import { Operations } from '../records.js'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** How many lengths the items of a block begin with, and which piece is the value; none is. */
const PAIRS = { lengths: 2, value: 1 }
const KEYS = { lengths: 1 }
const SWAPS = { lengths: 3, value: 2 }

const WRITES = ['insert', 'replace', 'upsert', 'delete', 'increment', 'compare_and_swap'].flatMap((verb) => [
  `twindex_${verb}`,
  `twindex_${verb}_many`,
])

/** Has `refuse` called in the place of whatever would change pairs or take tables away. */
export function refuseWrites(core, refuse) {
  core.exports = { ...core.exports }
  for (const name of [...WRITES, 'twindex_clear', 'twindex_drop_table']) core.exports[name] = refuse
}

export class Journal {
  #core
  #exports
  #check
  #write
  #operations = new Operations()
  /** Each table by its name, and by each of its handles: `{ id }`, the number that its file has for it, or none once it was dropped. */
  #names = new Map()
  #tables = new Map()
  #next = 0

  /**
   * From now on `check` is called before each call that may change something, and may refuse it, and `write` after it
   * with the operations that it came to.
   */
  constructor(core, check, write) {
    this.#core = core
    this.#exports = core.exports
    this.#check = check
    this.#write = write
    core.exports = { ...core.exports }
    this.#watch('twindex_table_with', (status, call) => this.#opened(status, ...call))
    this.#watch('twindex_drop_table', (status, call) => this.#dropped(status, ...call))
    this.#watch('twindex_clear', (status, [table]) => {
      const id = this.#id(table)
      if (status === 0 && id !== undefined) this.#operations.clear(id)
    })
    for (const verb of ['insert', 'replace', 'upsert']) {
      this.#watch(`twindex_${verb}`, (status, [table, ...places]) => this.#set(status, table, ...places))
      this.#watch(`twindex_${verb}_many`, (status, call) => this.#each(status, PAIRS, ...call))
    }
    this.#watch('twindex_delete', (status, [table, ...key]) => this.#set(status, table, ...key, 0, ABSENT))
    this.#watch('twindex_delete_many', (status, call) => this.#each(status, KEYS, ...call))
    this.#watch('twindex_compare_and_swap', (status, [table, key, keyLength, , , ...value]) =>
      this.#set(status, table, key, keyLength, ...value),
    )
    this.#watch('twindex_compare_and_swap_many', (status, call) => this.#each(status, SWAPS, ...call))
    this.#watch('twindex_increment', (status, [table, ...key]) => {
      if (status === 0) this.#put(table, this.#bytes(...key), core.answerInteger)
    })
    this.#watch('twindex_increment_many', (status, call) => this.#added(status, ...call))
  }

  /** Begins with a dump that numbers its tables in this order. Handles that are open get the new numbers too. */
  start(names) {
    this.#next = names.length
    for (const [id, name] of names.entries()) {
      const table = this.#names.get(name)
      if (table === undefined) this.#names.set(name, { id })
      else table.id = id
    }
  }

  #watch(name, note) {
    const verb = this.#exports[name]
    this.#core.exports[name] = (...call) => {
      this.#check()
      const status = verb(...call)
      this.#core.refresh()
      note(status, call)
      if (!this.#operations.isEmpty) this.#write(this.#operations)
      return status
    }
  }

  /** `undefined` for a cache, and for a table that was dropped. */
  #id(handle) {
    return this.#tables.get(handle)?.id
  }

  #bytes(at, length) {
    return this.#core.bytes.subarray(at, at + length)
  }

  #opened(handle, _store, ...places) {
    if (handle < 0) return
    const [name, index, keys, values] = [0, 2, 4, 6].map((at) => this.#bytes(places[at], places[at + 1]))
    const text = decoder.decode(name)
    if (!this.#names.has(text)) {
      const isSorted = index[0] === 's'.charCodeAt(0)
      this.#operations.create(this.#next, isSorted, { keys, values, name })
      this.#names.set(text, { id: this.#next++ })
    }
    this.#tables.set(handle, this.#names.get(text))
  }

  #dropped(status, _store, name, length) {
    if (status !== 1) return
    const text = decoder.decode(this.#bytes(name, length))
    const table = this.#names.get(text)
    this.#operations.drop(table.id)
    table.id = undefined
    this.#names.delete(text)
  }

  /** Where it took effect, the key has this value, or none. */
  #set(status, table, key, keyLength, value, valueLength) {
    const id = this.#id(table)
    if (status !== 1 || id === undefined) return
    if (valueLength === ABSENT) this.#operations.delete(id, this.#bytes(key, keyLength))
    else this.#operations.put(id, this.#bytes(key, keyLength), this.#bytes(value, valueLength))
  }

  #put(table, key, integer) {
    this.#operations.put(this.#id(table), key, encoder.encode(String(integer)))
  }

  /** The key has the value that it has, or none. */
  #look(table, key, keyLength) {
    const found = this.#exports.twindex_select(table, key, keyLength)
    this.#core.refresh()
    const { answerAt, answerLength } = this.#core
    this.#set(1, table, key, keyLength, answerAt, found === 1 ? answerLength : ABSENT)
  }

  #each(status, { lengths, value }, table, block, blockLength) {
    const core = this.#core
    const outcomes = core.answerAt
    for (let at = block, item = 0; at < block + blockLength; item++) {
      const length = (piece) => core.view.getUint32(at + 4 * piece, true)
      const place = [at + 4 * lengths]
      for (let piece = 0; piece < lengths; piece++) {
        place.push(place[piece] + (length(piece) === ABSENT ? 0 : length(piece)))
      }
      // Where a call failed, the items before the one that failed have taken effect.
      if (status < 0) this.#look(table, place[0], length(0))
      else {
        const written = value === undefined ? [0, ABSENT] : [place[value], length(value)]
        this.#set(core.bytes[outcomes + item], table, place[0], length(0), ...written)
      }
      at = place[lengths]
    }
  }

  #added(status, table, block, blockLength) {
    const core = this.#core
    for (let at = block, item = 0; at < block + blockLength; item++) {
      const length = core.view.getUint32(at, true)
      if (status < 0) this.#look(table, at + 12, length)
      else {
        this.#put(table, this.#bytes(at + 12, length), core.view.getBigInt64(core.answerAt + 8 * item, true))
      }
      at += 12 + length
    }
  }
}
