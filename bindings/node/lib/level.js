// A store behind the interface of abstract-level, so that code written for Level runs on it.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { open, Store } from './store.js'

/** Where a package is looked for: beside this one, and where the program is, since this one may be a link to a checkout. */
function places() {
  const here = pathToFileURL(join(process.cwd(), 'here.js'))
  return [import.meta.url, process.argv[1] && pathToFileURL(process.argv[1]), here].filter(Boolean)
}

function resolve(name) {
  for (const place of places()) {
    try {
      return createRequire(place).resolve(name)
    } catch {
      // The next place may have it.
    }
  }
  const message =
    `twindex/level needs the package ${name}, which is not installed: npm install ${name}. ` +
    'If it is, and twindex is a link to a checkout, then run the program from its own folder, ' +
    'or install a copy instead: npm install --install-links <checkout>/bindings/node'
  throw Object.assign(new Error(message), { code: 'MODULE_NOT_FOUND' })
}

const { AbstractIterator, AbstractKeyIterator, AbstractLevel, AbstractValueIterator } = createRequire(
  import.meta.url,
)(resolve('abstract-level'))

/** What crosses as it is. Strings go by way of bytes, since Level shows those that are not UTF-8 too. */
const FORMATS = ['buffer', 'view']
/** What Level calls a format is a codec here. */
const CODECS = { buffer: 'bytes', view: 'view' }
const ENDS = ['gt', 'gte', 'lt', 'lte']
/** Keys that are deleted at once by a `clear` of a part. */
const CLEARED = 1000

export class TwindexLevel extends AbstractLevel {
  #location
  #options
  #store
  #tables = new Map()

  constructor(location, options) {
    const isOptions = location !== null && typeof location === 'object' && !(location instanceof URL)
    const isInFile = !isOptions && location !== undefined && location !== null
    const { durability, memoryLimit, table = 'level', ...forward } = (isOptions ? location : options) ?? {}
    super(
      {
        encodings: Object.fromEntries(FORMATS.map((format) => [format, true])),
        implicitSnapshots: false,
        seek: true,
        has: true,
        getSync: true,
        createIfMissing: isInFile,
        errorIfExists: isInFile,
        permanence: isInFile,
      },
      forward,
    )
    this.#location = isInFile ? location : undefined
    this.#options = { durability, memoryLimit, table }
  }

  /** The file; `undefined` in memory. */
  get location() {
    return this.#location
  }

  /** The store while it is open: its tables, figures and the rest of the package. */
  get store() {
    return this.#store
  }

  async _open({ createIfMissing, errorIfExists }) {
    const { durability, memoryLimit } = this.#options
    if (this.#location === undefined) {
      this.#store ??= new Store({ memoryLimit })
      return
    }
    const isThere = existsSync(this.#location)
    if (isThere && errorIfExists) throw new Error(`${this.#location} exists already (errorIfExists)`)
    if (!isThere && !createIfMissing)
      throw new Error(`${this.#location} does not exist (createIfMissing is false)`)
    this.#store = await open(this.#location, { durability, memoryLimit, existing: !createIfMissing })
  }

  async _close() {
    this.#tables.clear()
    // A database in memory keeps its pairs when it is opened again.
    if (this.#location !== undefined) await this.#store?.close()
  }

  /** The table as these encodings see it. */
  #table(keys, values) {
    const name = `${keys} ${values}`
    let table = this.#tables.get(name)
    if (table === undefined) {
      table = this.#store.table(this.#options.table, {
        index: 'sorted',
        keys: CODECS[keys],
        values: CODECS[values],
      })
      this.#tables.set(name, table)
    }
    return table
  }

  async _get(key, options) {
    return this._getSync(key, options)
  }

  _getSync(key, { keyEncoding, valueEncoding }) {
    return this.#table(keyEncoding, valueEncoding).select(key)
  }

  async _getMany(keys, { keyEncoding, valueEncoding }) {
    return this.#table(keyEncoding, valueEncoding).selectMany(keys)
  }

  async _has(key, { keyEncoding }) {
    return this.#table(keyEncoding, 'view').contains(key)
  }

  async _hasMany(keys, { keyEncoding }) {
    return this.#table(keyEncoding, 'view').containsMany(keys)
  }

  async _put(key, value, { keyEncoding, valueEncoding, sync }) {
    this.#table(keyEncoding, valueEncoding).upsert(key, value)
    await this.#written(sync)
  }

  async _del(key, { keyEncoding, sync }) {
    this.#table(keyEncoding, 'view').delete(key)
    await this.#written(sync)
  }

  /** Waits for the disk where a write asks for that, as Level's option `sync` does. */
  async #written(sync) {
    if (!sync || this.#location === undefined) return
    if (this.#store.durability === 'none') await this.#store.save()
    else await this.#store.flush()
  }

  async _batch(operations, { sync }) {
    this.#store.batch((batch) => {
      for (const { type, key, value, keyEncoding, valueEncoding } of operations) {
        if (type === 'put') batch.upsert(this.#table(keyEncoding, valueEncoding), key, value)
        else batch.delete(this.#table(keyEncoding, 'view'), key)
      }
    })
    await this.#written(sync)
  }

  async _clear({ keyEncoding, limit, ...rest }) {
    const table = this.#table(keyEncoding, 'view')
    if (limit === -1 && ENDS.every((end) => rest[end] === undefined)) {
      table.clear()
      return
    }
    for (let left = limit === -1 ? Number.POSITIVE_INFINITY : limit; left > 0; left -= CLEARED) {
      const pairs = [...table.scan({ ...rangeOf(rest), limit: Math.min(left, CLEARED) })]
      table.deleteMany(pairs.map(([key]) => key))
      if (pairs.length < CLEARED) break
    }
  }

  _iterator(options) {
    return new EntryIterator(this, this.#table(options.keyEncoding, options.valueEncoding), options)
  }

  _keys(options) {
    return new KeyIterator(this, this.#table(options.keyEncoding, 'view'), options)
  }

  _values(options) {
    return new ValueIterator(this, this.#table(options.keyEncoding, options.valueEncoding), options)
  }
}

/** The range of a scan that abstract-level's options ask for. */
function rangeOf({ reverse, ...options }) {
  const range = { reverse }
  for (const end of ENDS) if (options[end] !== undefined) range[end] = options[end]
  // As elsewhere in Level, of two ends on one side the one that is included counts.
  if (range.gte !== undefined) delete range.gt
  if (range.lte !== undefined) delete range.lt
  return range
}

/** An iterator of one of abstract-level's kinds, which gives what `pick` takes of a pair. */
function iteratorOf(Base, pick) {
  return class extends Base {
    #table
    #options
    #range
    #pairs
    #given = 0

    constructor(db, table, options) {
      super(db, options)
      this.#table = table
      this.#options = options
      this.#range = rangeOf(options)
    }

    #take() {
      this.#pairs ??= this.#table.scan(this.#limited())
      const { value, done } = this.#pairs.next()
      if (done) return undefined
      this.#given++
      return pick(value, this.#options)
    }

    #limited() {
      const { limit } = this.#options
      return limit === -1 ? this.#range : { ...this.#range, limit: Math.max(0, limit - this.#given) }
    }

    async _next() {
      return this.#take()
    }

    async _nextv(size) {
      const items = []
      while (items.length < size) {
        const item = this.#take()
        if (item === undefined) break
        items.push(item)
      }
      return items
    }

    async _all() {
      return this._nextv(Number.POSITIVE_INFINITY)
    }

    _seek(target) {
      const { gt, gte, lt, lte, reverse } = this.#range
      const isOutside =
        (gt !== undefined && Buffer.compare(target, gt) <= 0) ||
        (gte !== undefined && Buffer.compare(target, gte) < 0) ||
        (lt !== undefined && Buffer.compare(target, lt) >= 0) ||
        (lte !== undefined && Buffer.compare(target, lte) > 0)
      if (isOutside) {
        this.#pairs = [].values()
        return
      }
      const limited = { ...this.#limited() }
      if (reverse) {
        delete limited.lt
        limited.lte = target
      } else {
        delete limited.gt
        limited.gte = target
      }
      this.#pairs = this.#table.scan(limited)
    }

    async _close() {
      this.#pairs?.return?.()
      this.#pairs = [].values()
    }
  }
}

const EntryIterator = iteratorOf(AbstractIterator, ([key, value], { keys, values }) => [
  keys ? key : undefined,
  values ? value : undefined,
])
const KeyIterator = iteratorOf(AbstractKeyIterator, ([key]) => key)
const ValueIterator = iteratorOf(AbstractValueIterator, ([, value]) => value)
