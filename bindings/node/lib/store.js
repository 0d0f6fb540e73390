// Stores.

import { fillBatch, openBatch } from './batch.js'
import { takeRows } from './block.js'
import { changesOf } from './changes.js'
import { preventClone } from './clone.js'
import { utf8 } from './codecs.js'
import { parseObject } from './crossing.js'
import { openTable } from './expiring.js'
import { loadStore, loadStoreSync, openFile, openFileSync, readPath } from './files.js'
import { readNamed } from './named.js'
import { native } from './native.js'
import { checkOtherCopies } from './registry.js'
import { openSnapshot, runTransaction } from './scopes.js'
import { DEFAULT_CODEC } from './shared/codecs.js'
import { makeError, rangeError } from './shared/errors.js'
import { ASYNC_DISPOSE, DISPOSE, INSPECT, INTERNAL } from './shared/internal.js'
import { readBoolean, readFunction, readLimit, readOptions, readString, TABLE } from './shared/options.js'
import { LATER, later } from './tasks.js'
import { Warnings } from './warnings.js'

const forgotten = new FinalizationRegistry(native.freeStore)

const OPEN = [...TABLE, 'expires']
const STORE = ['shared', 'memoryLimit']

/** The same of all handles of one store. */
let identify

export class Store {
  #handle
  /** A number that it has in common with other handles of the same store, where there may be others. */
  #place
  #closing
  #file
  #warnings

  static {
    identify = (store) => store.#place ?? store
  }

  constructor(options, handle) {
    preventClone(this, 'Store')
    this.#handle = options === INTERNAL ? handle : openStore(readOptions(options, 'a store', STORE))
    this.#place = native.placeOf(this.#handle)
    const file = native.fileOf(this.#handle)
    this.#file = file === undefined ? undefined : parseObject(file)
    this.#warnings = new Warnings(this.#file?.path)
    forgotten.register(this, this.#handle)
  }

  static async load(source, options) {
    return new Store(INTERNAL, await loadStore(source, options))
  }

  static loadSync(source, options) {
    return new Store(INTERNAL, loadStoreSync(source, options))
  }

  // --- tables

  table(name, options) {
    const { create = true, ...read } = readOptions(options, 'a table', OPEN)
    const { named, asked } = readNamed(name, read)
    readBoolean(create, 'create')
    const expires = named.expires === undefined ? undefined : Number(named.expires)
    const handle = native.openTable(this.#handle, ...asked, DEFAULT_CODEC, Number(create), expires)
    return openTable(this, name, named, handle)
  }

  tables() {
    native.tables(this.#handle)
    return takeRows([utf8, utf8]).map((show) => show())
  }

  dropTable(name) {
    return native.dropTable(this.#handle, readString(name, "a table's name"))
  }

  get memory() {
    return native.storeMemory(this.#handle)
  }

  get memoryLimit() {
    return native.memoryLimit(this.#handle)
  }

  set memoryLimit(limit) {
    native.setMemoryLimit(this.#handle, readLimit(limit))
  }

  // --- batches

  batch(fill) {
    const batch = openBatch(this, native.openBatch(this.#handle))
    if (fill === undefined) return batch
    return fillBatch(batch, readFunction(fill, 'fill'))
  }

  // --- snapshots and transactions

  snapshot() {
    return openSnapshot(this, native.openSnapshot(this.#handle))
  }

  transaction(run) {
    return runTransaction(this, this.#handle, run, identify)
  }

  // --- dumps and files

  async #later(options, what, work) {
    const read = readOptions(options, what, ['signal'])
    return later(read, () => work(this.#handle, 1))
  }

  async dump(options) {
    return this.#later(options, 'a dump', native.dump)
  }

  dumpSync() {
    return native.dump(this.#handle, 0)
  }

  get path() {
    return this.#file?.path
  }

  get durability() {
    return this.#file?.durability ?? 'none'
  }

  get readOnly() {
    return this.#file?.readOnly ?? false
  }

  get torn() {
    return this.#file?.torn
  }

  stats() {
    const { lastSync, refreshed, ...figures } = parseObject(native.stats(this.#handle))
    const date = (time) => (time === undefined ? undefined : new Date(time))
    return { ...figures, lastSync: date(lastSync), refreshed: date(refreshed) }
  }

  // --- following

  async refresh(options) {
    return this.#later(options, 'a refresh', native.refresh)
  }

  refreshSync() {
    return native.refresh(this.#handle, 0)
  }

  async follow(options) {
    return this.#later(options, 'a follow', native.follow)
  }

  followSync() {
    native.follow(this.#handle, 0)
  }

  get position() {
    return native.position(this.#handle)
  }

  changes(position, options) {
    return changesOf(this, this.#handle, position, options)
  }

  async flush(options) {
    return this.#later(options, 'a flush', native.flush)
  }

  flushSync() {
    native.flush(this.#handle, 0)
  }

  save(path, options) {
    return unlessClosed(this.#save(path, options))
  }

  async #save(path, options) {
    const read = readOptions(options, 'a save', LATER)
    if (path === undefined) return this.#compact(read)
    const file = readPath(path)
    return later(read, () => native.saveAs(this.#handle, file, 1))
  }

  saveSync(path) {
    if (path === undefined) this.compactSync()
    else native.saveAs(this.#handle, readPath(path), 0)
  }

  compact(options) {
    return unlessClosed(this.#compact(options))
  }

  async #compact(options) {
    const read = readOptions(options, 'a compaction', LATER)
    return later(read, (gauge) => native.compact(this.#handle, gauge, 1))
  }

  compactSync() {
    native.compact(this.#handle, undefined, 0)
  }

  // --- what happens in the background

  on(event, listener) {
    return this.#listen('on', event, listener)
  }

  once(event, listener) {
    return this.#listen('once', event, listener)
  }

  off(event, listener) {
    return this.#listen('off', event, listener)
  }

  #listen(method, event, listener) {
    if (this.closed) throw makeError('TWINDEX_CLOSED', 'the store is closed')
    this.#warnings.change(method, event, listener)
    return this
  }

  async close(options) {
    const read = readOptions(options, 'a close', ['signal'])
    return later(read, () => {
      this.#closing ??= native.closeStore(this.#handle, 1).then(
        () => this.#warnings.end(),
        (cause) => {
          // It stays open, so that it can be saved to another file.
          this.#closing = undefined
          throw cause
        },
      )
      return this.#closing
    })
  }

  closeSync() {
    if (this.closed) return
    native.closeStore(this.#handle, 0)
    this.#closing = Promise.resolve()
    this.#warnings.end()
  }

  get closed() {
    return this.#closing !== undefined
  }

  [DISPOSE]() {
    this.closeSync()
  }

  [ASYNC_DISPOSE]() {
    return this.close()
  }

  get [Symbol.toStringTag]() {
    return 'Store'
  }

  [INSPECT](_depth, options, inspect) {
    return `Store ${inspect(this.closed ? { closed: true } : { tables: this.tables(), memory: this.memory }, options)}`
  }
}

/** The same promise, which ends no process that does not wait for it where only the closing of the store ended the work. */
function unlessClosed(work) {
  const promise = new Promise((resolve, reject) => {
    work.then(resolve, (cause) => {
      if (cause.code === 'TWINDEX_CLOSED') promise.catch(() => {})
      reject(cause)
    })
  })
  return promise
}

/** The number of a store with these options, which are checked before it is opened. */
function openStore({ shared, memoryLimit }) {
  const limit = readLimit(memoryLimit)
  if (shared === undefined) return withLimit(native.openStore(), limit)
  if (readString(shared, "a shared store's name") === '')
    throw rangeError("a shared store's name is not empty")
  if (!native.hasShared(shared)) checkOtherCopies(shared, 'hasShared')
  return withLimit(native.openShared(shared), limit)
}

function withLimit(handle, limit) {
  if (limit !== undefined) native.setMemoryLimit(handle, limit)
  return handle
}

/** Opens the store in a file. */
export function openSync(path, options) {
  return new Store(INTERNAL, openFileSync(path, options))
}

/** The same, while other things go on. */
export async function open(path, options) {
  return new Store(INTERNAL, await openFile(path, options))
}
