// The one interpreter of vectors for JavaScript. It waits for every call, so it does for verbs that are promises too.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** A file of this folder. */
export const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'))

export const { cases, expiring } = read('vectors.json')

/** What a step says for bytes; anything else as it is, for the store to refuse. */
export function decode(value) {
  if (typeof value === 'string') return Buffer.from(value)
  if (Array.isArray(value)) return value.map(decode)
  if (value?.hex !== undefined) return Buffer.from(value.hex, 'hex')
  if (value?.repeat !== undefined) return Buffer.from(value.repeat.repeat(value.times), 'hex')
  return value
}

/** Results and expectations in one form: bytes as hexadecimal text, nothing as null. */
function plain(value) {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return Array.isArray(value) ? value.map(plain) : (value ?? null)
}

export const camel = (verb) => verb.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())

async function all(source) {
  const pairs = []
  for await (const pair of source) pairs.push(pair)
  return pairs
}

/** The options of a range, of which a step has only those that it needs. */
function range(step) {
  const options = {}
  for (const name of ['gt', 'gte', 'lt', 'lte', 'prefix'])
    if (name in step) options[name] = decode(step[name])
  for (const name of ['reverse', 'limit']) if (name in step) options[name] = step[name]
  return options
}

/** What returns names, which are no bytes. */
const NAMES = ['tables', 'caches']

/** The arguments of a verb, in their order. */
const ARGUMENTS = ['key', 'prefix', 'value', 'expected', 'new', 'keys', 'pairs', 'swaps']

/** Steps that not every host has: those of ends, ranges and cursors, and those of snapshots and transactions. */
export const ENDS = [
  'take',
  'first',
  'last',
  'pop_first',
  'pop_last',
  'delete_range',
  'delete_prefix',
  'seek',
  'key',
]
export const SCOPES = ['snapshot', 'transaction']

/** Thrown by the function of a transaction that a step gives up. */
const GIVEN_UP = new Error('given up')

/** What a step says of times to live, as the last argument of a verb. */
export function timed({ ttl }) {
  if (ttl === undefined) return []
  const millis = { null: Number.POSITIVE_INFINITY, nan: Number.NaN }[ttl] ?? ttl
  return [{ ttl: millis }]
}

const amounts = (step) => step.amounts.map(([key, by]) => [decode(key), by])

/** Runs the steps of a case. `more` has the steps that not all hosts have, `named` what a change returns. */
export class Runner {
  tables = new Map()
  cursors = new Map()
  scopes = new Map()

  constructor(store, codec, { DELETE, KEEP }, more = {}) {
    this.store = store
    this.codecs = { keys: codec, values: codec }
    this.more = more
    this.change = (step) => (old) =>
      'append' in step
        ? Buffer.concat([old ?? Buffer.alloc(0), decode(step.append)])
        : step.keep
          ? KEEP
          : DELETE
  }

  async open(name, index, expires) {
    const options = { index, ...this.codecs }
    if (expires !== undefined) options.expires = expires
    this.tables.set(name, await this.store.table(name, options))
  }

  /** Begins a transaction whose function ends with the step that ends it. Run again, the function has met a conflict. */
  async begin() {
    let begin
    let end
    const begun = new Promise((resolve) => {
      begin = resolve
    })
    const ends = new Promise((resolve) => {
      end = resolve
    })
    let runs = 0
    const outcome = (async () =>
      this.store.transaction(async (tx) => {
        if (++runs > 1) throw Object.assign(new Error('run again'), { code: 'TWINDEX_CONFLICT' })
        begin(tx)
        if (!(await ends)) throw GIVEN_UP
      }))()
    const scope = await Promise.race([begun, outcome])
    const close = () => {
      end(false)
      return assert.rejects(outcome, (error) => error === GIVEN_UP)
    }
    const commit = () => {
      end(true)
      return outcome
    }
    return { table: (...given) => scope.table(...given), close, commit }
  }

  /** The table of a step: of the store, of a snapshot or of a transaction. */
  tableOf({ in: scope, table: name = 't' }) {
    if (scope === undefined) return this.tables.get(name)
    const { open, tables } = this.scopes.get(scope)
    if (!tables.has(name)) tables.set(name, open.table(name, this.codecs))
    return tables.get(name)
  }

  async run(step) {
    const { do: verb, id, name, key, by } = step
    if (verb in this.more) return this.more[verb](this, step)
    if (verb.includes('_next')) return this.cursors.get(id)[camel(verb)](step.limit)
    switch (verb) {
      case 'seek':
        return this.cursors.get(id).seek(decode(key))
      case 'key':
      case 'value':
        return this.cursors.get(id)[verb]
      case 'snapshot':
      case 'transaction': {
        const open = verb === 'snapshot' ? this.store.snapshot() : await this.begin()
        this.scopes.set(id, { open, tables: new Map() })
        return undefined
      }
      case 'commit':
        return this.scopes.get(step.in).open.commit()
      case 'end':
        return this.scopes.get(step.in).open.close()
    }
    const table = this.tableOf(step)
    switch (verb) {
      case 'table':
        return this.open(name, step.index, step.expires)
      case 'tables':
        return this.store.tables()
      case 'drop_table':
        return this.store.dropTable(name)
      case 'close':
        return this.store.close()
      case 'reload':
        this.store = this.store.constructor.loadSync(this.store.dumpSync())
        for (const [name, index] of this.store.tables()) await this.open(name, index)
        return undefined
      case 'cursor':
        this.cursors.set(id, table.cursor(range(step)))
        return undefined
      case 'scan':
        return all(table.scan(range(step)))
      case 'delete_range':
        return table.deleteRange(range(step))
      case 'iter':
        return (await all(table)).sort(([one], [other]) => Buffer.compare(one, other))
      case 'len':
        return table.size
      case 'alter':
        return table.alter(decode(key), this.change(step))
      case 'increment':
        return table.increment(decode(key), by, ...timed(step))
      case 'increment_many':
        return table.incrementMany(amounts(step), ...timed(step))
      case 'ttl': {
        const [left, { expect }] = [table.ttl(decode(key)), step]
        if (expect === 'ever') return left === Number.POSITIVE_INFINITY ? Buffer.from(expect) : left
        return left > 0 && left <= expect?.most ? expect : left
      }
      case 'touch':
        return table.touch(decode(key), timed(step)[0]?.ttl)
      case 'remove_expired':
        return table.removeExpired(step.limit)
      case 'advance':
        // A timer may be a part of a millisecond early.
        return sleep(step.ms + 1, undefined)
      default: {
        const given = ARGUMENTS.filter((each) => each in step).map((each) => decode(step[each]))
        return table[camel(verb)](...given, ...timed(step))
      }
    }
  }

  async check(step) {
    const { error, mentions = '' } = step.expect ?? {}
    if (error === undefined) {
      const expected = NAMES.includes(step.do) ? step.expect : plain(decode(step.expect))
      return assert.deepEqual(plain(await this.run(step)), expected)
    }
    await assert.rejects(
      async () => this.run(step),
      ({ code, message }) => {
        assert.equal(code, error)
        assert.ok(message.includes(mentions), `${message} mentions ${mentions}`)
        return true
      },
    )
  }

  /** All steps of a case, over a table with this index where it has one, whose pairs may expire. */
  async checkAll(steps, index, expires) {
    if (index !== undefined) await this.open('t', index, expires)
    for (const [number, step] of steps.entries()) {
      try {
        await this.check(step)
      } catch (error) {
        error.message = `step ${number}, ${JSON.stringify(step).slice(0, 300)}: ${error.message}`
        throw error
      }
    }
    await this.store.close()
  }
}

/** Every case with each of its indexes, but those with a step that the host lacks. */
export function* casesByIndex(lacks = [], all = cases) {
  for (const each of all) {
    if (each.steps.some((step) => lacks.includes(step.do))) continue
    for (const index of each.index.length > 0 ? each.index : [undefined]) yield [each, index]
  }
}
