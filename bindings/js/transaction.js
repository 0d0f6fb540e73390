// Transactions: reads and writes that take effect together, or not at all.

import { checkDecimal, readAmount } from './amounts.js'
import { makeError, typeError } from './errors.js'
import { checkInternal, INSPECT, INTERNAL } from './internal.js'
import { EXCLUDED, NO_RANGE, readFunction, readIterable, readScan, readTuple } from './options.js'
import { readThere, wrongExpiry } from './snapshot.js'
import { KEYS, PAIRS, TableLike } from './table.js'
import { encodeText, isWellFormed } from './text.js'
import { readTtl, readWrite } from './times.js'
import { lengthOf } from './views.js'

/** The verbs that write a pair, as the hosts number them. */
const INSERT = 0
const REPLACE = 1
const UPSERT = 2

/** A transaction is run so often before it fails, as in the engine. */
const RUNS = 1000

/** A scan reads few pairs at first: each one that it reads may be a conflict. */
const FIRST_PAIRS = 16
const MOST_PAIRS = 256

let give
let end

const UNCLONEABLE = Symbol('a Twindex Transaction stays in its thread')

const MOST_KEY_BYTES = 65_535

/** How many bytes a key has; an error where it has no form in UTF-8. */
const bytesOf = (item) => (typeof item === 'string' ? encodeText(item, 'key').length : lengthOf(item))

/** Whether it is longer than any key. */
const isTooLong = (item) => item.length * 3 > MOST_KEY_BYTES && bytesOf(item) > MOST_KEY_BYTES

const notSupported = (what) => makeError('TWINDEX_NOT_SUPPORTED', `a table in a transaction has no ${what}`)

/**
 * `access` is the host's:
 *
 *   open(name, options)   `{ described, verbs }` of a table: see `TransactionTable`
 *   commit()              fails with `TWINDEX_CONFLICT`, and nothing is written, if what it read has changed
 *   hasConflict()         whether a verb or the commit has met a conflict
 *   end()                 gives it up, unless it was committed
 */
export class Transaction {
  #store
  #access
  /** As of a snapshot. */
  uncloneable = UNCLONEABLE

  constructor(internal, store, access) {
    checkInternal(internal, 'Transaction', 'store.transaction()')
    this.#store = store
    this.#access = access
  }

  static {
    give = (transaction) => transaction.#open()
    end = (transaction) => {
      const access = transaction.#access
      transaction.#access = undefined
      return access
    }
  }

  get store() {
    return this.#store
  }

  get closed() {
    return this.#access === undefined
  }

  table(name, options) {
    const read = readThere(name, options, 'a table of a transaction')
    const { described, verbs } = this.#open().open(...read)
    return new TransactionTable(INTERNAL, this, described, verbs)
  }

  #open() {
    if (this.#access !== undefined) return this.#access
    throw makeError('TWINDEX_ENDED', 'the transaction has ended: use it only while its function runs')
  }

  get [Symbol.toStringTag]() {
    return 'Transaction'
  }

  [INSPECT](_depth, options, inspect) {
    return `Transaction ${inspect({ closed: this.closed }, options)}`
  }
}

/**
 * A table in a transaction. `verbs` work on items:
 *
 *   select(item)                   a copy of the value's item, or `undefined`
 *   write(verb, item, value, ttl)  whether it takes effect
 *   delete(item)                   the same
 *   increment(item, by, ttl)       the sum, like `by`
 *   range(range, limit, down)      rows: `[item, key, value]`, the key's item and functions that show both halves. A range whose
 *                                  upper end alone is a `PREFIX` ends where that prefix does.
 *
 * Where `described.expires` they also have `ttl(item)`, `touch(item, ttl)` and `swap(item, seen, next)`, which keeps the pair's time.
 */
export class TransactionTable extends TableLike {
  #transaction
  #keys
  #values
  #expires
  #verbs

  constructor(internal, transaction, described, verbs) {
    checkInternal(internal, 'TransactionTable', 'tx.table()')
    const { keys } = described.codecs
    super(transaction.store, described, {
      of: (key) => keys.own(keys.toItem(key, 'key')),
      keep: (item) => this.#live().select(item),
      swap: (item, seen, next) => this.#swap(item, seen, next),
      walk: (halves) => this.#all(halves),
      end: (isLast) => this.#find(isLast)?.show(),
      find: (isLast) => this.#find(isLast),
      remove: ({ item }) => this.#live().delete(item),
      deleteAll: (range) => this.#deleteAll(range),
    })
    this.#transaction = transaction
    this.#keys = keys
    this.#values = described.codecs.values
    this.#expires = described.expires
    this.#verbs = verbs
  }

  #live() {
    give(this.#transaction)
    return this.#verbs
  }

  #key(key) {
    return this.#keys.own(this.#keys.toItem(key, 'key'))
  }

  #value(value) {
    return this.#values.own(this.#values.toItem(value, 'value'))
  }

  /** As the engine would check it, which sees the arguments of a verb on many one by one. */
  #manyKey(key) {
    const item = this.#key(key)
    const length = bytesOf(item)
    if (length <= MOST_KEY_BYTES) return item
    const message = `a key of ${length} bytes is too long, the limit is ${MOST_KEY_BYTES}`
    throw makeError('TWINDEX_KEY_TOO_LONG', message)
  }

  #manyValue(value) {
    const item = this.#value(value)
    if (typeof item === 'string' && !isWellFormed(item)) encodeText(item, 'value')
    return item
  }

  // --- verbs

  select(key) {
    return this.#select(this.#key(key))
  }

  #select(item) {
    const found = this.#keep(item)
    return found === undefined ? undefined : this.#values.show(found)
  }

  /** As a table, none has a key that is too long. */
  #keep(item) {
    const verbs = this.#live()
    return isTooLong(item) ? undefined : verbs.select(item)
  }

  contains(key) {
    return this.#keep(this.#key(key)) !== undefined
  }

  insert(key, value, options) {
    return this.#write(INSERT, key, value, options)
  }

  replace(key, value, options) {
    return this.#write(REPLACE, key, value, options)
  }

  upsert(key, value, options) {
    return this.#write(UPSERT, key, value, options)
  }

  #write(verb, key, value, options) {
    const ttl = this.#ttl(options)
    return this.#live().write(verb, this.#key(key), this.#value(value), ttl)
  }

  #ttl(options) {
    if (options !== undefined) this.#mustExpire()
    return readWrite(options)
  }

  #mustExpire() {
    if (!this.#expires) throw wrongExpiry(this.name, false)
  }

  ttl(key) {
    this.#mustExpire()
    return this.#live().ttl(this.#key(key))
  }

  touch(key, ttl) {
    this.#mustExpire()
    const lifetime = readTtl(ttl)
    return this.#live().touch(this.#key(key), lifetime)
  }

  delete(key) {
    return this.#live().delete(this.#key(key))
  }

  increment(key, by = 1, options = undefined) {
    const ttl = this.#ttl(options)
    checkDecimal(this.#values)
    return this.#live().increment(this.#key(key), by, ttl)
  }

  #swap(item, seen, next) {
    const verbs = this.#live()
    if (this.#expires) return verbs.swap(item, seen, next)
    if (!this.#values.isEqual(verbs.select(item), seen)) return false
    if (next === undefined) verbs.delete(item)
    else verbs.write(UPSERT, item, next)
    return true
  }

  // --- verbs on many, whose arguments are all read before the first write

  #each(items, what, read, act) {
    return Array.from(readIterable(items, what), read).map(act)
  }

  #writeEach(verb, pairs, options) {
    const ttl = this.#ttl(options)
    const read = (pair) => {
      const [key, value] = readTuple(pair, 2, 'the pairs')
      return [this.#manyKey(key), this.#manyValue(value)]
    }
    return this.#each(pairs, 'the pairs', read, (pair) => this.#live().write(verb, ...pair, ttl))
  }

  #keysEach(keys, act) {
    return this.#each(keys, 'the keys', (key) => this.#key(key), act)
  }

  insertMany(pairs, options) {
    return this.#writeEach(INSERT, pairs, options)
  }

  replaceMany(pairs, options) {
    return this.#writeEach(REPLACE, pairs, options)
  }

  upsertMany(pairs, options) {
    return this.#writeEach(UPSERT, pairs, options)
  }

  deleteMany(keys) {
    const read = (key) => this.#manyKey(key)
    return this.#each(keys, 'the keys', read, (item) => this.#live().delete(item))
  }

  containsMany(keys) {
    return this.#keysEach(keys, (item) => this.#keep(item) !== undefined)
  }

  selectMany(keys) {
    return this.#keysEach(keys, (item) => this.#select(item))
  }

  incrementMany(amounts, options) {
    const ttl = this.#ttl(options)
    checkDecimal(this.#values)
    const read = (amount) => {
      const [key, by] = readTuple(amount, 2, 'the amounts')
      readAmount(by)
      return [this.#manyKey(key), by]
    }
    return this.#each(amounts, 'the amounts', read, ([item, by]) => this.#live().increment(item, by, ttl))
  }

  compareAndSwapMany(swaps) {
    const optional = (value) => (this.#values.isNone(value) ? undefined : this.#manyValue(value))
    const read = (swap) => {
      const [key, expected, value] = readTuple(swap, 3, 'the swaps')
      return [this.#manyKey(key), optional(expected), optional(value)]
    }
    return this.#each(swaps, 'the swaps', read, (swap) => this.#swap(...swap))
  }

  // --- what would have every write of another thread restart it

  get size() {
    throw notSupported('size: count what scan() gives')
  }

  clear() {
    throw notSupported('clear(): use deleteRange()')
  }

  // --- order

  scan(options) {
    const { reverse, limit, range } = readScan(options, this.#keys)
    return this.#walk(range, PAIRS, reverse, limit)
  }

  #find(isLast) {
    const [row] = this.#live().range(NO_RANGE, 1, isLast)
    if (row === undefined) return undefined
    const [item, key, value] = row
    return { item, show: () => [key(), value()] }
  }

  #deleteAll(range) {
    const verbs = this.#live()
    const rows = verbs.range(range, Number.POSITIVE_INFINITY, false)
    for (const [item] of rows) verbs.delete(item)
    return rows.length
  }

  #all(halves) {
    this.#live()
    if (this.index === 'sorted') return this.#walk(NO_RANGE, halves)
    const message = `table "${this.name}" has a hash index, so it cannot be iterated in a transaction`
    throw makeError('TWINDEX_WRONG_INDEX', message)
  }

  /** Reads the first block at once, so that what is wrong with the call is an error of the call. */
  #walk(range, halves, down = false, limit = Number.POSITIVE_INFINITY) {
    const rows = this.#live().range(range, Math.min(FIRST_PAIRS, limit), down)
    return this.#rest(rows, range, halves, down, limit)
  }

  *#rest(first, range, halves, down, limit) {
    let wanted = FIRST_PAIRS
    for (let rows = first, left = limit; ; ) {
      for (const [, key, value] of rows) {
        this.#live()
        yield halves === PAIRS ? [key(), value()] : halves === KEYS ? key() : value()
      }
      left -= rows.length
      if (left <= 0 || rows.length < wanted) return
      const past = [EXCLUDED, rows.at(-1)[0]]
      wanted = Math.min(2 * wanted, MOST_PAIRS, left)
      rows = this.#live().range(down ? { ...range, upper: past } : { ...range, lower: past }, wanted, down)
    }
  }
}

// --- running them

/** Which transaction's function runs, until it first waits: `{ transaction, outer }`, where `outer` is the one around it. */
let running

/** The innermost of these that has not ended. */
function live(link) {
  let inner = link
  while (inner?.transaction.closed) inner = inner.outer
  return inner
}

/** Ends a transaction that came to nothing: whether that was a conflict. */
function giveUp(transaction) {
  const access = end(transaction)
  const isConflict = access.hasConflict()
  access.end()
  return isConflict
}

/** Whether it is committed, and not to be run again. */
function commit(transaction) {
  const access = end(transaction)
  try {
    if (access.hasConflict()) return false
    access.commit()
    return true
  } catch (error) {
    if (error.code === 'TWINDEX_CONFLICT') return false
    throw error
  } finally {
    access.end()
  }
}

function checkRuns(runs) {
  if (runs < RUNS) return
  const message = `others changed what the transaction read, in each of ${RUNS} runs`
  throw makeError('TWINDEX_CONFLICT', message)
}

function runNow(link, run) {
  const before = running
  running = link
  try {
    return run(link.transaction)
  } finally {
    running = before
  }
}

/** Whether an `async` function, or one that returns a promise. */
const isAsync = (run) => Object.prototype.toString.call(run) === '[object AsyncFunction]'

/**
 * What `store.transaction(run)` returns. `begin()` gives the access to a new transaction. `tracker` knows, of an `async` function,
 * whose code runs after it has waited, where the host can know that. `identify(store)` is the same of all handles of one store.
 */
export function transact(
  store,
  begin,
  run,
  tracker = { current() {}, run: runNow },
  identify = (store) => store,
) {
  readFunction(run, 'a transaction')
  const around = [running, tracker.current()].map(live)
  for (const inner of around) {
    for (let link = inner; link !== undefined; link = link.outer) {
      link.outer = live(link.outer)
      if (identify(link.transaction.store) !== identify(store)) continue
      const message = 'a transaction of this store is running: write with it, or wait until it has ended'
      throw makeError('TWINDEX_IN_WRITE', message)
    }
  }
  const outer = around[0] ?? around[1]
  const begun = () => ({ transaction: new Transaction(INTERNAL, store, begin()), outer })
  const track = (link) => tracker.run(link, () => runNow(link, run))
  if (isAsync(run)) return transactLater(begun, track)
  for (let runs = 1; ; runs++) {
    const link = begun()
    const { transaction } = link
    try {
      const result = runNow(link, run)
      if (typeof result?.then === 'function') return transactLater(begun, track, link, result)
      if (typeof result?.next === 'function')
        throw typeError('the function of a transaction is no generator', result)
      if (commit(transaction)) return result
    } catch (error) {
      if (transaction.closed || !giveUp(transaction)) throw error
    }
    checkRuns(runs)
  }
}

/** The same, of a function that waits. `first` and `result` are of a run that has begun. */
async function transactLater(begun, track, first, result) {
  for (let runs = 1; ; runs++) {
    const link = runs === 1 && first !== undefined ? first : begun()
    const { transaction } = link
    try {
      const value = await (link === first ? result : track(link))
      if (commit(transaction)) return value
    } catch (error) {
      if (transaction.closed || !giveUp(transaction)) throw error
    }
    checkRuns(runs)
  }
}
