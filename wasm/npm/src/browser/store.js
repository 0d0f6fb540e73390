// A store that is kept in a place of files.
//
// The module says what is written: the bytes of a new file, and after each call the record of what that call changed. The file with
// the highest number is the store. A compaction begins the next one beside it, and removes the old one once the new one is on disk.

import { check, checkFiles, recover } from '../check.js'
import { makeError } from '../shared/errors.js'
import { INTERNAL } from '../shared/internal.js'
import { readLimit } from '../shared/options.js'
import { limitBits, storeClass } from '../store.js'
import { putBytes } from '../text.js'
import { runTransaction } from '../transaction.js'
import { hearersOf } from '../watch.js'

const SECOND = 1000
/** A log is compacted once the file has this many bytes for each that the store holds in memory. */
const BYTES_PER_BYTE = 3
const LEAST_BYTES = 4 * 1024 * 1024
/** How often, and how many milliseconds apart, a reader looks again for a file that the tab that leads has just begun. */
const READS = 10
const PAUSE = 10
const UNFINISHED = 'the file ends within its dump, and there is no older one'
/** The number of the sign that a store has no whole file yet. */
const BEGUN = 0
/** The reasons for which the module refuses writes. */
const [READ_ONLY, LOG_FAILED] = [0, 1]

const random = () => crypto.getRandomValues(new BigUint64Array(1))[0] || 1n
/** Goes on with `next` at once where there is nothing to wait for. */
const after = (waited, next) => (waited === undefined ? next() : waited.then(next))
const quietly = async (work) => {
  try {
    await work()
  } catch {}
}
const newestFirst = async (place) => (await place.list()).sort((a, b) => b - a)

/** What the module makes of a file: its store, if it was ever finished. */
function openFile(core, bytes, limit) {
  const length = putBytes(core, 0, bytes)
  core.seed()
  const handle = core.status(core.exports.twindex_open(core.input, length, limitBits(limit), random()))
  return handle === 0 ? undefined : { handle, end: core.answerCount, bytes: bytes.length }
}

/** Reads again where a file was taken away meanwhile, as the tab that leads does when it compacts. */
async function reading(read) {
  for (let times = 1; ; times++) {
    try {
      const found = await read(times === READS)
      if (found !== undefined) return found
    } catch (error) {
      if (error.name !== 'NotFoundError' || times === READS) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE))
  }
}

/**
 * Opens the newest file. An older one counts only where the newer ones were begun and never finished, since then it has
 * everything. A damaged file is an error, and stays. `found` is empty where there is no file.
 */
function openNewest(core, place, limit, readOnly) {
  return reading(async (isLast) => {
    const numbers = await newestFirst(place)
    for (const number of numbers) {
      const opened = openFile(core, await place.read(number), limit)
      if (opened !== undefined) return { ...opened, number, numbers }
    }
    if (numbers.length === 0 || numbers.includes(BEGUN)) return { numbers }
    // A reader may have come just when the tab that leads began the first file.
    if (readOnly && !isLast) return undefined
    throw makeError('TWINDEX_CORRUPT', UNFINISHED)
  })
}

/** Whether a file was ever finished. One that is damaged may have been. */
function isFinished(core, bytes, limit) {
  try {
    const opened = openFile(core, bytes, limit)
    if (opened !== undefined) core.exports.twindex_close(opened.handle)
    return opened !== undefined
  } catch {
    return true
  }
}

/** Whether there is a store in a place: where there is the sign, one of the files beside it must have been finished. */
export function isKept(place, load) {
  return reading(async () => {
    const numbers = await newestFirst(place)
    if (!numbers.includes(BEGUN)) return numbers.length > 0
    const core = await load()
    for (const number of numbers) {
      if (number !== BEGUN && isFinished(core, await place.read(number))) return true
    }
    return false
  })
}

/** The bytes of the newest file that was finished, damaged or not; where there is none, of the newest. */
async function newestAsItIs(core, place, limit) {
  checkFiles(core)
  await checkFound(core, place)
  return reading(async () => {
    const numbers = (await newestFirst(place)).filter((number) => number !== BEGUN)
    const files = await Promise.all(numbers.map((number) => place.read(number)))
    const finished = files.find((bytes) => isFinished(core, bytes, limit))
    if (files.length > 0) return { bytes: finished ?? files[0], isFinished: finished !== undefined }
    throw noStore()
  })
}

const noStore = () => makeError('TWINDEX_IO', 'there is no store of this name')

async function checkFound(core, place) {
  if (!(await isKept(place, () => core))) throw noStore()
}

/** What `check` of a store that is kept says, which nobody need have open. */
export async function checkKept(core, place, options) {
  const { bytes, isFinished } = await newestAsItIs(core, place, readLimit(options?.memoryLimit))
  const report = check(core, bytes, options)
  if (!isFinished && report.damage.length === 0) throw makeError('TWINDEX_CORRUPT', UNFINISHED)
  return report
}

/** Saves what is left of a store in another place, where none is yet. */
export async function recoverKept(core, place, to, options) {
  const { bytes } = await newestAsItIs(core, place, readLimit(options?.memoryLimit))
  await checkFree(core, to)
  const { file, ...recovery } = recover(core, bytes, options)
  await beginning(to, () => writeFile(to, 1, file))
  return recovery
}

/** The bytes of a store's newest file as they are, damaged or not. */
export async function exportKept(core, place) {
  return (await newestAsItIs(core, place)).bytes
}

/** Makes a store of the bytes of a file, where there is none yet. */
export async function importKept(core, place, file, options) {
  checkFiles(core)
  const opened = openFile(core, file, readLimit(options.memoryLimit))
  if (opened === undefined) throw makeError('TWINDEX_CORRUPT', 'the file ends within its dump')
  core.exports.twindex_close(opened.handle)
  await checkFree(core, place)
  // What a crash left behind the last record is left out.
  await beginning(place, () => writeFile(place, 1, opened.end > 0 ? file.subarray(0, opened.end) : file))
}

/** Gives the files of a store another name, under which there is none yet. Until all are there, the old ones stay. */
export async function renameKept(core, place, to) {
  await checkFound(core, place)
  await checkFree(core, to)
  await beginning(to, async () => {
    for (const number of await newestFirst(place)) {
      if (number !== BEGUN) await writeFile(to, number, await place.read(number))
    }
  })
  await place.destroy()
}

async function checkFree(core, place) {
  if (await isKept(place, () => core)) throw makeError('TWINDEX_IO', 'there is a store of this name already')
  await place.destroy()
}

/** Makes the first file of a store. Should the tab die meanwhile, a sign says that nothing is lost with what it left. */
async function beginning(place, make) {
  try {
    const sign = await place.create(BEGUN)
    await sign.close()
    const made = await make()
    await place.remove(BEGUN)
    return made
  } catch (error) {
    await quietly(() => place.destroy())
    throw typeof error.code === 'string' ? error : unwritten(error)
  }
}

async function writeFile(place, number, bytes) {
  const file = await place.create(number)
  try {
    file.append(bytes)
    await file.flush()
  } finally {
    await file.close()
  }
}

/** Discards a file that could not be written; whether that could be done. */
function isDiscarded(file) {
  try {
    file.discard()
    return true
  } catch {
    return false
  }
}

function unwritten(cause) {
  const message = `a new file could not be written: ${cause.message || cause.name}`
  return Object.assign(makeError('TWINDEX_IO', message), { cause })
}

/** `lock` has `close()`, which is called when the store begins to close, and `release()` for when it has. */
export async function openKept(core, place, options) {
  return (await openWatched(core, place, options)).store
}

/**
 * The same with the store's handle. `watch` has `record(bytes, number, at)`, which is called for each record once it is in the file of
 * this number, and `back()`, for when a file that may have had records is given up for the one before.
 */
export async function openWatched(core, place, { durability, readOnly, memoryLimit, lock, watch }) {
  checkFiles(core)
  const limit = readLimit(memoryLimit)
  const found = await openNewest(core, place, limit, readOnly)
  const handle = found.handle ?? core.status(core.exports.twindex_store_new(limitBits(limit)))
  const file = readOnly ? undefined : new Log(core, handle, place, found, durability, lock, watch)
  if (readOnly) core.status(core.exports.twindex_refuse(handle, READ_ONLY))
  else await file.start()
  // A dump without a salt has no log, and counts as a whole.
  const cut = found.end > 0 ? found.bytes - found.end : 0
  const torn = cut > 0 ? { offset: found.end, bytes: cut } : undefined
  const store = new (keptClass(core))(INTERNAL, handle, limit, { file, torn, storage: place.kind })
  /** Closes the file alone. */
  const end = async () => file.close()
  return { core, handle, store, storage: place.kind, end }
}

/** A copy of a store that another tab writes: what is in its newest file, `number`, up to `end`. `copy.apply(record)` goes on from there. */
export async function openCopy(core, place, memoryLimit) {
  checkFiles(core)
  const limit = readLimit(memoryLimit)
  const { handle, number, end } = await openNewest(core, place, limit, true)
  if (handle === undefined) throw noStore()
  const store = new (storeClass(core))(INTERNAL, handle, limit)
  const apply = (record) => {
    const length = putBytes(core, 0, record)
    store.memoryLimit = undefined // the other tab has kept to its limit
    try {
      core.status(core.exports.twindex_apply(handle, core.input, length))
    } finally {
      store.memoryLimit = limit
    }
  }
  return { core, handle, store, storage: place.kind, number, end, apply }
}

function keptClass(core) {
  const Base = storeClass(core, runTransaction)
  class Store extends Base {
    #file
    #torn
    #storage
    #closing

    constructor(internal, handle, limit, { file, torn, storage }) {
      super(internal, handle, limit)
      this.#file = file
      this.#torn = torn
      this.#storage = storage
    }

    get readOnly() {
      return this.#file === undefined
    }

    get storage() {
      return this.#storage
    }

    get torn() {
      return this.#torn
    }

    /** Puts what was written on the disk. */
    async flush() {
      await this.#file?.flush()
    }

    /** Begins a new file, without what was replaced and deleted. */
    async compact() {
      if (this.#file === undefined) throw makeError('TWINDEX_READ_ONLY', 'the store was opened read-only')
      await this.#file.compact()
    }

    /** Every call ends as the first one does. */
    close() {
      this.#closing ??= new Promise((resolve) => resolve(this.#close()))
      return this.#closing
    }

    closeSync() {
      if (this.#closing !== undefined) return
      try {
        this.#closing = this.#close() ?? Promise.resolve()
      } catch (error) {
        this.#closing = Promise.reject(error)
        throw error
      } finally {
        // Where the place cannot close at once, `close` tells how it went.
        this.#closing.catch(() => {})
      }
    }

    #close() {
      if (this.closed) return undefined
      // Before the file is closed: what a flush says is the last that the module has to say of it.
      const last = this.#file?.last()
      super.closeSync()
      return this.#file?.close(last)
    }
  }
  // A store that is made of this one's class is one in memory, as any other.
  Store.prototype.constructor = Base
  return Store
}

/** The file to which the records of a store go. */
class Log {
  #core
  #store
  #place
  #found
  #numbers
  #durability
  #lock
  #watch
  #file
  #number
  /** Where the next record goes, and how much of the file needs no note that it is on disk. */
  #end = 0
  #noted = 0
  /** The file is compacted once it has so many bytes. */
  #most = LEAST_BYTES
  #failure
  #timer
  /** The last compaction, and how many are under way. */
  #turn = Promise.resolve()
  #compacting = 0

  constructor(core, store, place, found, durability, lock, watch) {
    this.#core = core
    this.#store = store
    this.#place = place
    this.#found = found
    this.#numbers = found.numbers ?? []
    this.#durability = durability
    this.#lock = lock
    this.#watch = watch
  }

  /** Goes on in the file that was found, or begins one. */
  async start() {
    const core = this.#core
    const { number, end, bytes } = this.#found
    // A tab that has just died may still have its file: the store goes on in another one then, as it does behind a dump without a log.
    const file = end > 0 ? await this.#place.open(number, end, bytes).catch(() => undefined) : undefined
    hearersOf(core).files.set(this.#store, (record) => this.#append(record))
    if (file === undefined) {
      const isFirst = this.#numbers.length === 0
      return isFirst ? beginning(this.#place, () => this.compact()) : this.compact()
    }
    this.#file = file
    this.#number = number
    this.#end = end
    this.#noted = end
    core.status(core.exports.twindex_memory(this.#store))
    this.#most = Math.max(LEAST_BYTES, BYTES_PER_BYTE * core.answerCount)
    await this.#removeOthers(number)
    // Where the disk has no room for another file, the store goes on in this one.
    if (end > this.#most) await this.compact().catch(() => {})
  }

  /** Begins a new file with a dump of the store, once those that were asked for before have done so. */
  compact() {
    this.#compacting++
    const compacted = this.#turn.then(() => this.#compact()).finally(() => this.#compacting--)
    this.#turn = compacted.catch(() => {})
    return compacted
  }

  async #compact() {
    const number = Math.max(0, ...this.#numbers) + 1
    const before = this.#file
    let made
    this.#checkOpen()
    try {
      this.#check()
      made = await this.#place.create(number)
      await this.#begin(made, number)
    } catch (error) {
      await quietly(() => made?.close())
      await this.#place.remove(number).catch(() => this.#numbers.push(number))
      this.#check()
      if (typeof error.code === 'string') throw error
      if (before === undefined) throw this.#failed(error)
      // Not tried again at each write.
      this.#most = Math.max(this.#most, 2 * this.#end)
      throw unwritten(error)
    }
    this.#numbers.push(number)
    await quietly(() => before?.close())
    await this.#removeOthers(number)
  }

  /** Goes on in a new file. Where that cannot be written, goes back to the one before if that has everything, or fails for good. */
  async #begin(made, number) {
    const core = this.#core
    this.#check()
    this.#checkOpen()
    // No write may come between the dump and its log.
    core.status(core.exports.twindex_file(this.#store, random()))
    const bytes = core.answerBytes()
    const before = [this.#file, this.#number, this.#end, this.#noted, this.#most]
    try {
      made.append(bytes)
      this.#file = made
      this.#number = number
      this.#end = bytes.length
      this.#noted = bytes.length
      this.#most = Math.max(LEAST_BYTES, BYTES_PER_BYTE * bytes.length)
      const flushed = made.flush()
      if (flushed !== undefined) await flushed
    } catch (error) {
      const isBack =
        isDiscarded(made) && this.#store !== undefined && core.exports.twindex_file_failed(this.#store) === 1
      if (!isBack && before[0] !== undefined) this.#failed(error)
      ;[this.#file, this.#number, this.#end, this.#noted, this.#most] = before
      this.#watch?.back()
      throw error
    }
  }

  async #removeOthers(number) {
    const left = [number]
    for (const old of this.#numbers.filter((known) => known !== number)) {
      // One that a tab had open that has just died goes at a later time.
      await this.#place.remove(old).catch(() => left.push(old))
    }
    this.#numbers = left
  }

  /** Appends a record of the module, in the call that wrote it. */
  #append(record) {
    this.#checkOpen()
    const at = this.#end
    this.#write(record)
    this.#watch?.record(record, this.#number, at)
    if (this.#durability === 'always') this.#flushAtOnce()
    else if (this.#durability === 'everysec') {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined
        this.flush().catch(() => {}) // told of by the next write
      }, SECOND)
    }
    if (this.#end > this.#most && this.#compacting === 0) this.compact().catch(() => {}) // the same
  }

  #write(bytes) {
    try {
      this.#file.append(bytes)
    } catch (error) {
      throw this.#failed(error)
    }
    this.#end += bytes.length
  }

  async flush() {
    this.#checkOpen()
    this.#check()
    const [file, end] = [this.#file, this.#end]
    try {
      await file.flush()
    } catch (error) {
      // A compaction has ended meanwhile.
      if (file !== this.#file && this.#store !== undefined) return this.flush()
      throw this.#failed(error)
    }
    if (file === this.#file) this.#noteAsSynced(end)
  }

  /** Where the place flushes at once, the write that asked for it fails with it. */
  #flushAtOnce() {
    const [file, end] = [this.#file, this.#end]
    let flushed
    try {
      flushed = file.flush()
    } catch (error) {
      throw this.#failed(error)
    }
    if (flushed === undefined) this.#noteAsSynced(end)
    else flushed.catch((error) => file === this.#file && this.#failed(error)) // told of by the next write
  }

  /** Notes in the log that it is on disk up to `end`, where that is more than notes. */
  #noteAsSynced(end) {
    const note = this.#store !== undefined && end > this.#noted ? this.#note(end) : undefined
    if (note === undefined) return
    this.#write(note)
    this.#noted = this.#end
  }

  #note(end) {
    this.#core.exports.twindex_synced(this.#store, BigInt(end))
    return this.#core.takeRecord()
  }

  /** The note that all is on disk, for when the store is closed and that is so. */
  last() {
    return this.#failure === undefined && this.#end > this.#noted ? this.#note(this.#end) : undefined
  }

  /** Puts the rest on the disk, at once where the place can, and gives up the lock. */
  close(last) {
    clearTimeout(this.#timer)
    this.#store = undefined
    this.#lock.close()
    const release = () => void this.#lock.release()
    let closed
    try {
      closed = after(this.#compacting > 0 ? this.#turn : undefined, () => this.#closeFile(last))
    } catch (error) {
      release()
      throw this.#failed(error)
    }
    if (closed === undefined) return release()
    const failed = (error) => {
      throw this.#failed(error)
    }
    return closed.catch(failed).finally(release)
  }

  #closeFile(last) {
    const file = this.#file
    const trying = (work) => {
      if (this.#failure !== undefined) return undefined
      try {
        return work()?.catch((error) => this.#failed(error))
      } catch (error) {
        this.#failed(error)
        return undefined
      }
    }
    return after(
      trying(() => file.flush()),
      () => {
        if (last !== undefined) trying(() => file.append(last))
        return after(file.close(), () => this.#check())
      },
    )
  }

  /** Fails where the store was closed, since its files may be another tab's by then. */
  #checkOpen() {
    if (this.#store === undefined) throw makeError('TWINDEX_CLOSED', 'the store was closed')
  }

  /** Fails where the file cannot be written any more. */
  #check() {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** The error of every write from now on. */
  #failed(cause) {
    if (this.#failure === undefined) {
      const message = `writing to the store failed: ${cause.message || cause.name}`
      this.#failure = Object.assign(makeError('TWINDEX_LOG_FAILED', message), { cause })
      this.#core.failure = this.#failure
      if (this.#store !== undefined) this.#core.exports.twindex_refuse(this.#store, LOG_FAILED)
    }
    return this.#failure
  }
}
