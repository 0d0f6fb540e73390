// Stores in a cluster.

import { Batch } from './batch.js'
import { wait } from './call.js'
import { readTime } from './items.js'
import { native } from './native.js'
import { readCodecs, rememberedCodecs } from './shared/codecs.js'
import { makeError, rangeError, typeError } from './shared/errors.js'
import { INSPECT } from './shared/internal.js'
import { readBoolean, readCount, readFunction, readOptions, readString, TABLE } from './shared/options.js'
import { Table } from './table.js'

const TIMES = ['longestLife', 'timeout', 'connectTimeout', 'patience', 'catalogueAge']
const TLS = ['tlsAuthority', 'tlsIdentity']
const MOST_PARTITIONS = 1024
const MOST_REPLICAS = 1000
const STATS = ['hits', 'misses', 'invalidations', 'emptied', 'pairs', 'bytes', 'servers', 'channels']

function readPem(pem, name) {
  if (typeof pem === 'string') return Buffer.from(pem)
  if (!(pem instanceof Uint8Array)) throw typeError(`${name} is PEM, a string or bytes`, pem)
  return pem
}

function readGiven(options) {
  const names = ['namespace', 'nearCache', 'partitions', 'replicas', 'addresses', ...TLS, ...TIMES]
  const given = { ...readOptions(options, 'connect', names) }
  if (given.namespace !== undefined) readString(given.namespace, 'a namespace')
  if (given.nearCache !== undefined) readCount(given.nearCache, 'nearCache')
  for (const name of TIMES) given[name] = readTime(given[name], name)
  if (given.partitions !== undefined) {
    readCount(given.partitions, 'partitions')
    if (given.partitions < 1 || given.partitions > MOST_PARTITIONS) {
      throw rangeError(`partitions is 1 to ${MOST_PARTITIONS}, not ${given.partitions}`)
    }
  }
  if (given.replicas !== undefined && readCount(given.replicas, 'replicas') > MOST_REPLICAS) {
    throw rangeError(`replicas is 0 to ${MOST_REPLICAS}, not ${given.replicas}`)
  }
  if (given.addresses !== undefined) {
    if (Object.getPrototypeOf(given.addresses ?? 0) !== Object.prototype) {
      throw typeError('addresses is an object of announced and reached addresses', given.addresses)
    }
    given.addresses = Object.entries(given.addresses)
    for (const reached of given.addresses.flat()) readString(reached, 'an address')
  }
  if (given.tlsAuthority !== undefined) given.tlsAuthority = readPem(given.tlsAuthority, 'tlsAuthority')
  if (given.tlsIdentity !== undefined) {
    if (!Array.isArray(given.tlsIdentity) || given.tlsIdentity.length !== 2) {
      throw typeError('tlsIdentity is a pair of a certificate and its key', given.tlsIdentity)
    }
    given.tlsIdentity = given.tlsIdentity.map((pem) => readPem(pem, 'tlsIdentity'))
  }
  return given
}

/** Connects to the servers that a URL names. */
export async function connect(url, options) {
  readString(url, 'a URL')
  const given = readGiven(options)
  return new Store(await wait(() => native.connect(url, given)))
}

const notSupported = (what) => makeError('TWINDEX_NOT_SUPPORTED', `a store in a cluster has no ${what}`)

async function commitOnce(batch, fill) {
  await fill(batch)
  return batch.commit()
}

export class Store {
  #native

  constructor(store) {
    this.#native = store
  }

  async table(name, options) {
    readString(name, 'the name of a table')
    const read = readOptions(options, 'a table', TABLE)
    const { index, create = true } = read
    if (index !== undefined) readString(index, 'the index of a table')
    readBoolean(create, 'create')
    const codecs = readCodecs(read)
    const table = await wait(() =>
      this.#native.table(name, index, codecs.keys?.name, codecs.values?.name, create),
    )
    return new Table(table, rememberedCodecs(name, codecs, table.codecs))
  }

  async tables() {
    const flat = await wait(() => this.#native.tables())
    return Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at], flat[2 * at + 1]])
  }

  async dropTable(name) {
    readString(name, 'the name of a table')
    return wait(() => this.#native.dropTable(name))
  }

  /** A batch of writes, to be filled and committed; or the same, committed once `fill` has returned. */
  batch(fill) {
    const batch = new Batch(this.#native.batch())
    return fill === undefined ? batch : commitOnce(batch, readFunction(fill, 'fill'))
  }

  snapshot() {
    throw notSupported('snapshots')
  }

  transaction() {
    throw notSupported('transactions: store.batch() writes all or nothing in one slot')
  }

  /** The figures of the near cache, where there is one. */
  get nearStats() {
    const figures = this.#native.nearStats()
    if (figures === null || figures === undefined) return undefined
    return Object.fromEntries(STATS.map((name, at) => [name, figures[at]]))
  }

  [INSPECT](_depth, options, inspect) {
    return `Store ${inspect({ servers: this.#native.servers() }, options)}`
  }

  async close() {
    this.#native.close()
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    await this.close()
  }
}
