// Batches: writes that are done all or not at all.

import { at, wait } from './call.js'
import { encode, encodeOptional } from './items.js'
import { checkDecimal, readAmount } from './shared/amounts.js'
import { INSPECT } from './shared/internal.js'
import { refuseOldVerbs } from './shared/renamed.js'
import { INSERT, partsOf, REPLACE, UPSERT } from './table.js'

/** Writes to pairs in one slot of the cluster, which are done together. */
export class Batch {
  #native

  constructor(native) {
    this.#native = native
  }

  #put(verb, table, key, value) {
    const { native, codecs } = partsOf(table)
    const pair = [encode(codecs.keys, key, 'key'), encode(codecs.values, value, 'value')]
    at(() => this.#native.put(native, verb, ...pair))
    return this
  }

  insert(table, key, value) {
    return this.#put(INSERT, table, key, value)
  }

  replace(table, key, value) {
    return this.#put(REPLACE, table, key, value)
  }

  upsert(table, key, value) {
    return this.#put(UPSERT, table, key, value)
  }

  delete(table, key) {
    const { native, codecs } = partsOf(table)
    at(() => this.#native.delete(native, encode(codecs.keys, key, 'key')))
    return this
  }

  increment(table, key, by = 1) {
    const { native, codecs } = partsOf(table)
    checkDecimal(codecs.values)
    at(() => this.#native.increment(native, encode(codecs.keys, key, 'key'), readAmount(by)))
    return this
  }

  expect(table, key, value) {
    const { native, codecs } = partsOf(table)
    const bytes = encode(codecs.keys, key, 'key')
    at(() => this.#native.expect(native, bytes, encodeOptional(codecs.values, value)))
    return this
  }

  get size() {
    return this.#native.size
  }

  [INSPECT]() {
    return `Batch { size: ${this.size} }`
  }

  commit() {
    return wait(() => this.#native.commit())
  }
}
refuseOldVerbs(Batch)
