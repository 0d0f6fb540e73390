// Where a browser keeps the files of a store. Each is a row of files, numbered as they were begun:
//
//   list()                     the numbers that there are; 0 is a sign that the first file was begun and nothing is kept yet
//   read(number)               the bytes of a file, of which the end may be cut
//   create(number)             a new file, with append(bytes), flush() and close(), which return a promise where they cannot do it at once, and
//                              with discard(), after which nobody finds anything in it, or which throws
//   open(number, end, bytes)   such a file to go on behind `end`, where it has `bytes`; `undefined` where that cannot be
//   remove(number)
//   destroy()                  removes all
//
// A class of them has isHere() and names(), the names under which something is kept, each with whether it may be no store yet.

const SUFFIX = '.twx'
const FILE = /^(.+)\.(0|[1-9]\d{0,14})\.twx$/
const BASE = 'twindex:'
const READS = 100

/** The encoded name and the number of each file of a store in a folder. */
async function* files(folder) {
  for await (const [file, { kind }] of folder.entries()) {
    const [, name, number] = FILE.exec(file) ?? []
    if (kind === 'file' && name !== undefined) yield [name, Number(number)]
  }
}

/** Files of the origin's private file system, as workers alone can write them at once. */
export class PrivateFiles {
  /** What it is called in messages. */
  kind = 'opfs'
  #folder
  #name

  static isHere() {
    return (
      typeof FileSystemFileHandle === 'function' && 'createSyncAccessHandle' in FileSystemFileHandle.prototype
    )
  }

  static async names() {
    const names = new Map()
    for await (const [encoded, number] of files(await navigator.storage.getDirectory())) {
      try {
        const name = decodeURIComponent(encoded)
        names.set(name, number === 0 || names.get(name) === true)
      } catch {} // a file of some other program
    }
    return names
  }

  constructor(name) {
    this.#name = name
  }

  async #open() {
    this.#folder ??= await navigator.storage.getDirectory()
    return this.#folder
  }

  #file(number) {
    return `${encodeURIComponent(this.#name)}.${number}${SUFFIX}`
  }

  async list() {
    const mine = encodeURIComponent(this.#name)
    const numbers = []
    for await (const [name, number] of files(await this.#open())) if (name === mine) numbers.push(number)
    return numbers
  }

  async read(number) {
    const folder = await this.#open()
    const handle = await folder.getFileHandle(this.#file(number))
    for (let times = 1; ; times++) {
      const file = await handle.getFile()
      try {
        return new Uint8Array(await file.arrayBuffer())
      } catch (error) {
        // The tab that leads has written since.
        if (error.name !== 'NotReadableError' || times === READS) throw error
      }
    }
  }

  create(number) {
    return this.open(number, 0)
  }

  async open(number, start) {
    const folder = await this.#open()
    const handle = await folder.getFileHandle(this.#file(number), { create: true })
    const file = await handle.createSyncAccessHandle()
    try {
      file.truncate(start)
    } catch (error) {
      file.close()
      throw error
    }
    let end = start
    return {
      append(bytes) {
        let rest = bytes
        while (rest.length > 0) {
          // A private window of Chromium gives 2^32 - 8 where the disk is full, and throws nothing.
          const written = file.write(rest, { at: end })
          if (!(written > 0 && written <= rest.length)) throw new Error('the disk has no room for more')
          end += written
          rest = rest.subarray(written)
        }
      },
      flush() {
        file.flush()
        const size = file.getSize()
        if (size < end) throw new Error(`the disk has ${size} bytes of the ${end} that were written`)
      },
      discard() {
        file.truncate(0)
        file.flush()
      },
      close: () => void file.close(),
    }
  }

  async remove(number) {
    const folder = await this.#open()
    await folder.removeEntry(this.#file(number))
  }

  /** The newest file and then the sign go last: a tab that ends meanwhile leaves a store that opens. */
  async destroy() {
    const last = (number) => number || Number.POSITIVE_INFINITY
    const numbers = (await this.list()).sort((a, b) => last(a) - last(b))
    for (const number of numbers) await this.remove(number)
  }
}

/** All pieces as one. */
function join(pieces) {
  if (pieces.length === 1) return pieces[0]
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

const request = (made) =>
  new Promise((resolve, reject) => {
    made.onsuccess = () => resolve(made.result)
    made.onerror = () => reject(made.error)
  })

/** Files as pieces in IndexedDB, which is there in windows too and writes later. */
export class IndexedFiles {
  kind = 'indexeddb'
  #name
  #base
  /** How many calls use the database. */
  #calls = 0
  /** How many files are being written, which have to stay in the database in which they began. */
  #writing = 0
  #isGone = false

  static isHere() {
    return typeof indexedDB === 'object' && indexedDB !== null
  }

  static async names() {
    const names = (await indexedDB.databases()).map(({ name }) => name)
    const mine = names.filter((name) => name.startsWith(BASE))
    return new Map(mine.map((name) => [name.slice(BASE.length), true])) // a tab that ended may have left an empty one
  }

  constructor(name) {
    this.#name = name
  }

  /** The database, opened once however many calls need it. */
  #open(create) {
    if (this.#isGone) throw new Error('the database of the store was removed while the store was open')
    this.#base ??= this.#connect(create).catch((error) => {
      this.#base = undefined
      throw error
    })
    return this.#base
  }

  async #connect(create) {
    const opening = indexedDB.open(BASE + this.#name, 1)
    opening.onupgradeneeded = () => {
      if (create) opening.result.createObjectStore('pieces')
      else opening.transaction.abort() // which leaves none behind
    }
    const base = await request(opening).catch((error) => {
      throw error.name === 'AbortError' ? new DOMException('there is no database', 'NotFoundError') : error
    })
    // Another tab or worker removes the store, or gives it another name.
    base.onversionchange = () => {
      base.close()
      this.#base = undefined
      this.#isGone = this.#writing > 0
    }
    return base
  }

  /** Does work that uses the database. */
  async #using(work) {
    this.#calls++
    try {
      return await work()
    } finally {
      this.#calls--
      this.#rest()
    }
  }

  /** Closes the database when nothing uses it: browsers keep connections, and a tab that hangs would block a removal. */
  #rest() {
    if (this.#calls > 0 || this.#writing > 0) return
    this.#base?.then(
      (base) => base.close(),
      () => {},
    )
    this.#base = undefined
  }

  #pieces(mode, work) {
    return this.#using(async () => {
      const base = await this.#open(mode === 'readwrite')
      const transaction = base.transaction('pieces', mode, { durability: 'strict' })
      const made = work(transaction.objectStore('pieces'))
      return new Promise((resolve, reject) => {
        transaction.oncomplete = () => resolve(made.result)
        transaction.onabort = () => reject(transaction.error)
      })
    })
  }

  #all(number) {
    return IDBKeyRange.bound([number], [number, []])
  }

  async list() {
    // Asked first, since a database that is opened to see whether it is there is begun and given up again.
    const isThere = () => IndexedFiles.names().then((names) => names.has(this.#name))
    if (this.#base === undefined && !(await isThere().catch(() => true))) return []
    const reading = this.#pieces('readonly', (pieces) => pieces.getAllKeys())
    const keys = await reading.catch((error) => {
      if (error.name === 'NotFoundError') return []
      throw error
    })
    return [...new Set(keys.map(([number]) => number))]
  }

  async read(number) {
    const pieces = await this.#pieces('readonly', (store) => store.getAll(this.#all(number)))
    if (pieces.length === 0) throw new DOMException(`there is no file ${number}`, 'NotFoundError')
    return join(pieces)
  }

  create(number) {
    return this.#file(number, 0)
  }

  async open(number, end, bytes) {
    // What a tab left unfinished lies within a piece.
    if (end < bytes) return undefined
    return this.#using(async () => {
      const keys = await this.#pieces('readonly', (pieces) => pieces.getAllKeys(this.#all(number)))
      return this.#file(number, keys.at(-1)[1] + 1)
    })
  }

  #file(number, first) {
    this.#writing++
    let next = first
    let pending = []
    let writing = Promise.resolve()
    const flush = () => {
      if (pending.length === 0) return writing
      const piece = join(pending)
      pending = []
      const at = [number, next++]
      // Not put(), which would replace what another tab wrote.
      writing = writing.then(() => this.#pieces('readwrite', (pieces) => pieces.add(piece, at)))
      return writing
    }
    const close = () =>
      flush().finally(() => {
        this.#writing--
        this.#rest()
      })
    const discard = () => {
      pending = []
    }
    // Pieces are written whole or not at all, and none after one that was not.
    return { append: (bytes) => void pending.push(bytes.slice()), flush, discard, close }
  }

  async remove(number) {
    await this.#pieces('readwrite', (pieces) => pieces.delete(this.#all(number)))
  }

  async destroy() {
    await request(indexedDB.deleteDatabase(BASE + this.#name))
  }
}
