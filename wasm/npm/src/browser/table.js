// Tables of connected stores.

import { openTable } from '../expiring.js'
import { openNamed, readNamed } from '../named.js'
import { like } from '../shared/amounts.js'
import { probe } from '../transaction.js'
import { checkStays, stepsOf } from './requests.js'

const names = (text) => text.split(' ')
const SHOWN = names('codecs index memory size')
const READS = [
  ...names('contains selectMany containsMany entries keys values scan cursor first last'),
  Symbol.iterator,
]
/** Writes that the holder decides whatever a member's copy says. */
const DIRECT = names('insert replace upsert delete increment').flatMap((verb) => [verb, `${verb}Many`])
/** Writes that are transactions: they read too. */
const COMPOSED = names(
  'take alter compareAndSwap compareAndSwapMany popFirst popLast deleteRange deletePrefix',
)

/** A table of a store that is connected. Reads are those of the copy; writes are promises. */
export class ConnectedTable {
  #access
  #name
  #options
  #copy
  #described
  #table
  /** Fails where the table was dropped, though there may be another one of its name. */
  #check

  constructor(access, name, options) {
    this.#access = access
    this.#name = name
    this.#options = options
    this.#open()
  }

  #open() {
    const copy = this.#access.copy()
    if (copy === this.#copy) return this.#table
    const { core, handle, store } = copy
    const opened = openNamed(core, handle, this.#name, readNamed(this.#name, this.#options), false)
    checkStays(opened.described)
    this.#described = opened.described
    this.#table = openTable(core, store, opened.described, opened.handle)
    // A store that is being opened again refuses all writes.
    this.#check = () => copy.apply && core.status(probe(core, opened.handle))
    this.#copy = copy
    return this.#table
  }

  get name() {
    return this.#name
  }

  get(key) {
    return this.#open().select(key)
  }

  select(key) {
    return this.#open().select(key)
  }

  has(key) {
    return this.#open().contains(key)
  }

  watch(prefix, options) {
    this.#open()
    return this.#access.watch(this, this.#described, prefix, options)
  }

  forEach(visit, thisArgument) {
    for (const [key, value] of this.#open()) visit.call(thisArgument, value, key, this)
  }

  set(key, value) {
    return this.upsert(key, value)
  }

  async clear() {
    const table = this.#open()
    if (!this.#access.isHolder()) this.#check()
    await this.#access.write({ clear: this.#name }, () => table.clear())
  }

  static {
    const define = (name, value) =>
      Object.defineProperty(ConnectedTable.prototype, name, { value, writable: true, configurable: true })
    for (const name of SHOWN) {
      const get = function () {
        return this.#open()[name]
      }
      Object.defineProperty(ConnectedTable.prototype, name, { get, configurable: true })
    }
    for (const name of READS) {
      define(name, function (...given) {
        return this.#open()[name](...given)
      })
    }
    for (const name of DIRECT) {
      define(name, async function (...given) {
        const table = this.#open()
        if (this.#access.isHolder()) return this.#access.write(undefined, () => table[name](...given))
        this.#check()
        const steps = stepsOf(this.#access.store, this.#described, name, given)
        if (steps.length === 0) return []
        const answers = await this.#access.write({ steps, isDirect: true })
        const results = answers.map((answer, at) =>
          steps[at][2] === 'increment' ? like(steps[at][3][1], BigInt(answer)) : answer,
        )
        return name.endsWith('Many') ? results : results[0]
      })
    }
    for (const name of COMPOSED) {
      define(name, async function (...given) {
        const table = this.#open()
        if (this.#access.isHolder()) return this.#access.write(undefined, () => table[name](...given))
        this.#check()
        return this.#access.store.transaction((tx) => tx.table(this.#name, this.#options)[name](...given))
      })
    }
  }
}
