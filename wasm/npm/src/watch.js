// Watches: the changes of a table's keys, as this instance of the module makes them.
//
// While a store has a watch, the module says after each call what that changed in the store: a record as in the log of a file
// (docs/file-format.md). A watch keeps of it what it is for, as bytes, all of it or nothing.

import { openNamed, readNamed } from './named.js'
import { onAbort } from './shared/abort.js'
import { checkInternal, INTERNAL } from './shared/internal.js'
import { readOptions, readPrefix } from './shared/options.js'
import { encodeText } from './shared/text.js'
import { LONGEST_MS, NEXT, readWatch, WATCH, Waiting } from './shared/waiting.js'

/** A change counts as so many bytes beside its key and value. */
const CHANGE_BYTES = 128
/** The bytes of a record before its operations, of a deadline, and of a position. */
const [HEAD_BYTES, DEADLINE_BYTES, POSITION_BYTES] = [12, 8, 16]
const [PUT, DELETE, CREATE, DROP, CLEAR] = [0, 1, 2, 3, 4]
/** A table's number from here on goes on in bytes of its own. */
const LARGE_ID = 31

/** The operations of a record: each with its kind, table, key and value. */
function* operations(record) {
  let at = HEAD_BYTES
  const take = (length) => {
    at += length
    return record.subarray(at - length, at)
  }
  const number = () => {
    for (let [sum, scale] = [0, 1]; ; scale *= 128) {
      const byte = record[at++]
      sum += (byte & 127) * scale
      if (byte < 128) return sum
    }
  }
  while (at < record.length) {
    const head = record[at++]
    const id = (head >> 3) + (head >> 3 === LARGE_ID ? number() : 0)
    const kind = head & 7
    if (kind === PUT) {
      const [key, value] = [number(), number()]
      yield { kind, id, key: take(key), value: take(value) }
    } else if (kind === DELETE) yield { kind, id, key: take(number()) }
    else if (kind === DROP || kind === CLEAR) yield { kind, id }
    else take(kind === CREATE ? number() : POSITION_BYTES)
  }
}

/** An async iterator over changes. */
export class Watch extends Waiting {
  /** Keeps its store from being collected. */
  #table
  #name
  #codecs
  #expires
  #prefix
  #options
  #id
  #end
  #queue = []
  #bytes = 0
  /** Nothing comes any more. What came can still be read, unless the watch was closed. */
  #isEnded = false
  #wake = () => {}

  constructor(internal, described) {
    super()
    checkInternal(internal, 'Watch', 'table.watch()')
    const { table, codecs, expires, prefix, options, end } = described
    this.#table = table
    this.#name = table.name
    this.#codecs = codecs
    this.#expires = expires
    this.#prefix = prefix
    this.#options = options
    this.#end = end
  }

  get table() {
    return this.#table
  }

  /** Goes on with records that name the table so. */
  follow(id) {
    this.#id = id
  }

  #isFor({ id, key }) {
    return id === this.#id && (key === undefined || this.#prefix.every((byte, at) => key[at] === byte))
  }

  /** Takes what it is for of a record. */
  take(record) {
    const wanted = []
    let bytes = 0
    for (const operation of operations(record)) {
      if (!this.#isFor(operation)) continue
      wanted.push(operation)
      bytes += sizeOf(operation)
    }
    if (wanted.length === 0 || this.#isEnded) return
    const { maxChanges = 16_384, capacity = 2 ** 24 } = this.#options
    if (this.#queue.length + wanted.length > maxChanges || this.#bytes + bytes > capacity) {
      this.lose(wanted.length)
    } else {
      this.#queue.push(...wanted)
      this.#bytes += bytes
    }
    if (wanted.some(({ kind }) => kind === DROP)) this.finish()
    this.#wake()
  }

  /** Says that so many changes are missing. */
  lose(count) {
    const last = this.#queue.at(-1)
    if (last?.count > 0) last.count += count
    else this.#queue.push({ count })
    this.#wake()
  }

  /** The table is there no more. */
  drop() {
    this.#queue.push({ kind: DROP })
    this.finish()
  }

  /** Nothing comes any more. */
  finish() {
    this.#isEnded = true
    this.#table = undefined
    this.#end(this)
    this.#wake()
  }

  /** The next change if there is one already. One that cannot be shown stays the next one. */
  poll() {
    const [next] = this.#queue
    if (next === undefined) return undefined
    const shown = this.#show(next)
    this.#queue.shift()
    this.#bytes -= next.count === undefined ? sizeOf(next) : 0
    return shown
  }

  #show({ kind, key, value, count }) {
    const table = this.#name
    const { keys, values } = this.#codecs
    if (count !== undefined) return { kind: 'lost', table, count }
    if (kind === CLEAR || kind === DROP) return { kind: kind === CLEAR ? 'clear' : 'drop', table }
    const change = { kind: kind === PUT ? 'put' : 'delete', table, key: keys.read(key, 0, key.length, 'key') }
    if (kind === DELETE) return change
    if (!this.#expires) return { ...change, value: values.read(value, 0, value.length, 'value') }
    const shown = values.read(value, DEADLINE_BYTES, value.length - DEADLINE_BYTES, 'value')
    const expires = Number(new DataView(value.buffer, value.byteOffset).getBigUint64(0, true))
    return { ...change, value: shown, ...(expires > 0 && { expires }) }
  }

  /** Ends it, also for calls that wait. */
  close() {
    this.#queue = []
    if (!this.#isEnded) this.finish()
  }

  get [Symbol.toStringTag]() {
    return 'Watch'
  }

  async [NEXT](end) {
    const { signal } = this.#options
    const stop = signal && onAbort(signal, () => this.#wake())
    try {
      for (;;) {
        if (this.#isEnded && this.#queue.length === 0) return undefined
        if (signal?.aborted) {
          this.close()
          throw signal.reason
        }
        const change = this.poll()
        const left = end - performance.now()
        if (change !== undefined || left <= 0) return change
        let timer
        await new Promise((resolve) => {
          this.#wake = resolve
          if (left !== Number.POSITIVE_INFINITY) timer = setTimeout(resolve, Math.min(left, LONGEST_MS))
        })
        clearTimeout(timer)
      }
    } finally {
      stop?.()
    }
  }
}

const sizeOf = ({ key, value }) => CHANGE_BYTES + (key?.length ?? 0) + (value?.length ?? 0)

/** The bytes with which the keys begin that a watch is for. */
function bytesOfPrefix(prefix, keys) {
  if (prefix === undefined) return new Uint8Array(0)
  const item = readPrefix({ prefix }, keys).lower[1]
  return typeof item === 'string' ? encodeText(item, 'key') : item
}

/** A watch of a table, of which `end` is told when it ends. It is told of nothing until `follow`. */
export function newWatch(table, { codecs, expires }, prefix, given, end) {
  const options = readWatch(readOptions(given, 'a watch', WATCH))
  const bytes = bytesOfPrefix(prefix, codecs.keys)
  return new Watch(INTERNAL, { table, codecs, expires, prefix: bytes, options, end })
}

/** Has the module give records of what changes in a table: its store's handle. Records name the table by the answer's number. */
const begin = (core, handle) => core.status(core.exports.twindex_watch(handle))

/** The number by which records name the table of this name in a store. */
export function numberOf(core, store, name) {
  const { handle } = openNamed(core, store, name, readNamed(name, { keys: 'bytes', values: 'bytes' }), false)
  begin(core, handle)
  const number = core.answerCount
  core.exports.twindex_close(handle)
  return number
}

/** By a store's handle: its watches, and what appends to its file. */
const hearers = new WeakMap()

/** What hears the records of an instance's stores. */
export function hearersOf(core) {
  if (hearers.has(core)) return hearers.get(core)
  const [watches, files] = [new Map(), new Map()]
  core.onRecord = (record, store) => {
    for (const watch of watches.get(store) ?? []) watch.take(record)
    files.get(store)?.(record)
  }
  core.onClose = (store) => {
    for (const watch of watches.get(store) ?? []) watch.finish()
  }
  hearers.set(core, { watches, files })
  return hearers.get(core)
}

/** A watch of the table that has this handle. */
export function openWatch(core, table, handle, described, prefix, options) {
  const { watches } = hearersOf(core.base ?? core)
  const watch = newWatch(table, described, prefix, options, (ended) => {
    const all = watches.get(store)
    all?.delete(ended)
    if (all?.size !== 0) return
    watches.delete(store)
    core.exports.twindex_unwatch(store) // fails where the store is closed, which is all the same
  })
  const store = begin(core, handle)
  watch.follow(core.answerCount)
  if (!watches.has(store)) watches.set(store, new Set())
  watches.get(store).add(watch)
  return watch
}
