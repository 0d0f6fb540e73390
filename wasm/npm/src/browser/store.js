// A store that is kept in a place of files.
//
// A file is a dump and the log behind it. The one with the highest number whose dump is whole is the store: a new one is
// begun beside it at each opening and compaction, and the old one goes once the new one is on disk.

import { corrupt, isUnfinished, wholePart, withSalt } from '../records.js'
import { makeError } from '../shared/errors.js'
import { INTERNAL } from '../shared/internal.js'
import { readLimit } from '../shared/options.js'
import { loadStore, storeClass } from '../store.js'
import { Journal, refuseWrites } from './journal.js'

const SECOND = 1000
const readOnlyError = () => makeError('TWINDEX_READ_ONLY', 'the store was opened with readOnly')

/** How often, and how many milliseconds apart, a reader looks again for a file that the tab that leads has just begun. */
const READS = 10
const PAUSE = 10

/**
 * Finds the newest file whose dump is whole: the numbers that there are, its bytes, and how many were cut off it. An older
 * file counts only where the newer ones were begun and never finished, since then it has everything.
 */
async function newest(place, readOnly) {
  for (let read = 1; ; read++) {
    const numbers = (await place.list()).sort((a, b) => b - a)
    try {
      for (const number of numbers) {
        const bytes = await place.read(number)
        const end = wholePart(bytes)
        if (end !== undefined) return { numbers, bytes: bytes.subarray(0, end), cut: bytes.length - end }
        if (!isUnfinished(bytes)) throw corrupt(0, 'this is no whole file of Twindex')
      }
      if (numbers.length === 0) return { numbers, cut: 0 }
      if (!readOnly || read === READS)
        throw corrupt(0, 'the file ends in its dump, and there is no older one')
    } catch (error) {
      // A reader may have come just when the tab that leads took a file away.
      if (!readOnly || error.name !== 'NotFoundError' || read === READS) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE))
  }
}

/** The newest file that was finished, damaged or not; where there is none, the newest. */
async function newestAsItIs(place) {
  const numbers = (await place.list()).sort((a, b) => b - a)
  if (numbers.length === 0) throw makeError('TWINDEX_IO', 'there is no store of this name')
  const files = await Promise.all(numbers.map((number) => place.read(number)))
  return files.find((bytes) => !isUnfinished(bytes)) ?? files[0]
}

/** What `check` of a store that is kept says, which nobody need have open. */
export async function checkKept(core, place, options) {
  const { check } = await import('../verify.js')
  return check(storeClass(core), await newestAsItIs(place), options)
}

/** Saves what is left of a store in another place, where none is yet. */
export async function recoverKept(core, place, to, options) {
  const bytes = await newestAsItIs(place)
  if ((await to.list()).length > 0) throw makeError('TWINDEX_IO', 'there is a store of this name already')
  const { recover } = await import('../verify.js')
  const { file, ...recovery } = recover(storeClass(core), bytes, options)
  const made = await to.create(1)
  made.append(file)
  await made.flush()
  await made.close()
  return recovery
}

export async function openKept(core, place, { durability, readOnly, memoryLimit, release }) {
  const found = await newest(place, readOnly)
  const file = new File(place, found, durability, release)
  const Kept = keptClass(core, file, readOnly)
  const limit = readLimit(memoryLimit)
  const store =
    found.bytes === undefined
      ? new Kept({ memoryLimit: limit })
      : new Kept(INTERNAL, loadStore(core, found.bytes, limit), limit)
  if (readOnly) {
    refuseWrites(core, () => {
      throw readOnlyError()
    })
  } else {
    file.journal = new Journal(
      core,
      () => file.check(),
      (operations) => file.write(operations),
    )
    await store.compact()
  }
  return store
}

function keptClass(core, file, readOnly) {
  return class Store extends storeClass(core) {
    table(name, options) {
      const isThere = () => this.tables().some(([known]) => known === name)
      if (readOnly && options?.create !== false && !isThere()) throw readOnlyError()
      return super.table(name, options)
    }

    get readOnly() {
      return readOnly
    }

    get storage() {
      return file.place.kind
    }

    get torn() {
      return file.torn
    }

    /** Puts what was written on the disk. */
    async flush() {
      if (!readOnly) await file.flush()
    }

    /** Begins a new file, without what was replaced and deleted. */
    async compact() {
      if (readOnly) throw readOnlyError()
      await file.begin(
        () => this.dumpSync(),
        () => this.tables().map(([name]) => name),
      )
    }

    async close() {
      if (this.closed) return
      super.closeSync()
      if (!readOnly) await file.close()
    }

    closeSync() {
      this.close()
    }
  }
}

class File {
  journal
  torn
  #numbers
  #durability
  #release
  #salt
  #end
  #file
  #failed
  #timer
  #turn = Promise.resolve()

  constructor(place, { numbers, bytes, cut }, durability, release) {
    this.place = place
    this.#numbers = numbers
    this.#durability = durability
    this.#release = release
    if (cut > 0 && bytes !== undefined) this.torn = { offset: bytes.length, bytes: cut }
  }

  /** Puts a dump in the place of the file, once those that were asked for before have done so. */
  begin(dump, names) {
    const begun = this.#turn.then(() => this.#begin(dump, names))
    this.#turn = begun.catch(() => {})
    return begun
  }

  async #begin(dump, names) {
    this.check()
    const [salt] = crypto.getRandomValues(new BigUint64Array(1))
    const before = this.#file
    const number = Math.max(0, ...this.#numbers) + 1
    const made = await this.place.create(number)
    this.#numbers.push(number)
    // No write may come between the dump and its log.
    const bytes = withSalt(dump(), salt || 1n)
    this.journal.start(names())
    this.#salt = salt || 1n
    this.#end = bytes.length
    this.#file = made
    await this.#trying(async () => {
      made.append(bytes)
      await made.flush()
    })
    await before?.close()
    const left = [number]
    for (const old of this.#numbers.filter((known) => known !== number)) {
      // One that a tab had open that has just died goes at a later time.
      await this.place.remove(old).catch(() => left.push(old))
    }
    this.#numbers = left
  }

  write(operations) {
    const record = operations.seal(this.#salt, this.#end)
    try {
      this.#file.append(record)
    } catch (error) {
      this.#fail(error)
    }
    this.#end += record.length
    if (this.#durability === 'always') this.flush().catch(() => {})
    else if (this.#durability === 'everysec') {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined
        this.flush().catch(() => {}) // told of by the next write
      }, SECOND)
    }
  }

  flush() {
    return this.#trying(() => this.#file.flush())
  }

  async close() {
    clearTimeout(this.#timer)
    await this.#turn
    try {
      await this.flush()
      await this.#file.close()
    } finally {
      this.#release()
    }
  }

  /** Fails where the file cannot be written any more. */
  check() {
    if (this.#failed !== undefined) this.#fail(this.#failed)
  }

  async #trying(work) {
    this.check()
    try {
      await work()
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(cause) {
    this.#failed = cause
    throw Object.assign(makeError('TWINDEX_LOG_FAILED', `writing to the store failed: ${cause.message}`), {
      cause,
    })
  }
}
