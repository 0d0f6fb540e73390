// Looks for damage in the bytes of a file, and saves what is left, as docs/file-format.md says. It is not part of the module, so who
// does not call it does not load it.

import {
  CREATE,
  corrupt,
  countPairs,
  crc32,
  END,
  HEADER_BYTES,
  LOG,
  MAGIC,
  PAIRS,
  POSITION,
  readOperations,
  recordAt,
  SYNCED,
  seal,
  TABLE,
  tableRecord,
  VERSION,
  viewOf,
} from './records.js'
import { typeError } from './shared/errors.js'
import { readLimit, readOptions } from './shared/options.js'
import { viewBytes } from './shared/views.js'

const LEAST_LIMIT = 256 * 1024 * 1024
const LIMIT_PER_BYTE = 32

const BAD_RECORD = 'a record is damaged'

/** What a whole dump of these records is, without a log. `Store` loads it, so what is under a checksum makes sense too. */
class Kept {
  #parts = []
  #length = HEADER_BYTES
  /** Where each record began in the file that it is from, and where it begins now. */
  #places = []

  constructor(salt) {
    this.salt = salt
  }

  add(record, from) {
    const copy = record.slice()
    seal(this.salt, this.#length, copy)
    this.#places.push({ from, at: this.#length })
    this.#parts.push(copy)
    this.#length += copy.length
  }

  /** The record of the old file that has this byte of the new one. */
  fromAt(offset) {
    return this.#places.findLast(({ at }) => at <= offset)?.from
  }

  bytes() {
    const bytes = new Uint8Array(this.#length)
    bytes.set(MAGIC)
    viewOf(bytes).setUint32(8, VERSION, true)
    viewOf(bytes).setBigUint64(12, this.salt, true)
    viewOf(bytes).setUint32(20, crc32(bytes.subarray(0, 20)), true)
    let at = HEADER_BYTES
    for (const part of this.#parts) {
      bytes.set(part, at)
      at += part.length
    }
    return bytes
  }
}

/** The records of a file, and what is wrong with it. */
class File {
  /** `{ offset, kind, record, pairs, tables }` of each that is whole. */
  records = []
  report

  constructor(bytes, progress) {
    this.bytes = bytes
    this.progress = progress
    const isStore = bytes.length >= 12 && MAGIC.every((byte, at) => bytes[at] === byte)
    if (!isStore) throw corrupt(0, 'it is no store of Twindex')
    const view = viewOf(bytes)
    const version = view.getUint32(8, true)
    if (version !== VERSION) throw corrupt(8, `its format has the version ${version}, which is not known`)
    if (bytes.length < HEADER_BYTES) throw corrupt(bytes.length, 'it ends in its header')
    this.salt = view.getBigUint64(12, true)
    const figures = { dumpBytes: 0, logBytes: 0, records: 0, dumpPairs: 0, operations: 0 }
    this.report = { version, bytes: bytes.length, ...figures, damage: [], torn: undefined }
    if (view.getUint32(20, true) !== crc32(bytes.subarray(0, 20))) {
      this.#damage(0, HEADER_BYTES, 'the header is damaged')
    }
    const end = this.#dump(HEADER_BYTES)
    if (this.salt !== 0n && end < bytes.length) this.#log(end)
  }

  #damage(offset, end, what) {
    this.report.damage.push({ offset, bytes: end - offset, what })
  }

  /** Where the next whole record is. */
  #next(offset) {
    let at = offset + 1
    while (at < this.bytes.length && !recordAt(this.bytes, this.salt, at)) at++
    return at
  }

  /** Reads the dump: where its log begins. */
  #dump(start) {
    const { bytes, salt, report } = this
    for (let offset = start; ; ) {
      const record = recordAt(bytes, salt, offset)
      if (record === undefined) {
        const next = this.#next(offset)
        this.#damage(offset, next, BAD_RECORD)
        if (next >= bytes.length) {
          report.dumpBytes = bytes.length
          return bytes.length
        }
        offset = next
        continue
      }
      const kind = record[0]
      if (kind === LOG || kind === SYNCED) {
        // The end of the dump is among what is damaged.
        report.dumpBytes = offset
        return offset
      }
      this.#take(offset, record)
      offset += record.length
      if (kind === END) {
        report.dumpBytes = offset
        const pairs = Number(viewOf(record).getBigUint64(12, true))
        if (report.damage.length === 0 && pairs !== report.dumpPairs) {
          this.#damage(offset - record.length, offset, 'the number of pairs does not match')
        }
        return offset
      }
    }
  }

  #log(start) {
    const { bytes, salt, report } = this
    let offset = start
    for (;;) {
      const record = recordAt(bytes, salt, offset)
      if (record === undefined) {
        if (!this.#isSyncedPast(offset)) break
        const next = this.#next(offset)
        this.#damage(offset, next, 'a record that was on disk is damaged, and valid ones follow it')
        offset = next
        continue
      }
      this.#take(offset, record)
      offset += record.length
    }
    report.logBytes = offset - report.dumpBytes
    const last = bytes.findLastIndex((byte) => byte !== 0)
    if (last >= offset) report.torn = { offset, bytes: last + 1 - offset }
  }

  /** Whether a record behind says that all before it was on disk, and past this place. */
  #isSyncedPast(offset) {
    for (let at = this.#next(offset); at < this.bytes.length; at = this.#next(at)) {
      const record = recordAt(this.bytes, this.salt, at)
      if (record[0] === SYNCED && Number(viewOf(record).getBigUint64(12, true)) > offset) return true
    }
    return false
  }

  #take(offset, record) {
    const { report } = this
    const [kind, end] = [record[0], offset + record.length]
    report.records++
    const taken = { offset, kind, record, pairs: 0, tables: [] }
    try {
      if (kind === PAIRS) {
        const { table, pairs } = countPairs(record)
        report.dumpPairs += pairs
        Object.assign(taken, { pairs, tables: [table] })
      } else if (kind === LOG) {
        // A position changes nothing.
        const operations = readOperations(record).filter(({ what }) => what !== POSITION)
        report.operations += operations.length
        const others = operations.filter(({ what }) => what !== CREATE)
        Object.assign(taken, { tables: others.map(({ table }) => table) })
      }
      this.records.push(taken)
    } catch (error) {
      if (error.code !== 'TWINDEX_CORRUPT') throw error
      this.#damage(offset, end, error.message)
    }
    this.progress({ pairs: report.dumpPairs + report.operations, bytes: end })
  }

  /** A dump and log of the records, without those that begin at these places. */
  kept(without) {
    const kept = new Kept(this.salt || 1n)
    const records = this.records.filter(({ offset }) => !without.has(offset))
    const known = new Set()
    const [dump, log] = [(kind) => kind === TABLE || kind === PAIRS, (kind) => kind === LOG]
    for (const { kind, record, offset } of records) {
      if (kind !== TABLE) continue
      known.add(idOf(record))
      kept.add(record, offset)
    }
    const created = new Set()
    for (const { kind, record } of records) {
      if (!log(kind)) continue
      for (const { what, table } of readOperations(record)) if (what === CREATE) created.add(table)
    }
    // Those of which the record is lost get another name.
    for (const { tables, offset } of records) {
      for (const table of tables) {
        if (known.has(table) || created.has(table)) continue
        known.add(table)
        kept.add(tableRecord(table, `recovered ${table}`), offset)
      }
    }
    let pairs = 0
    for (const { kind, record, offset, pairs: more } of records) {
      if (kind === TABLE || !dump(kind)) continue
      pairs += more
      kept.add(record, offset)
    }
    kept.add(endRecord(pairs), this.report.dumpBytes)
    for (const { kind, record, offset } of records) if (log(kind)) kept.add(record, offset)
    return kept
  }
}

/** The id in a table's record. */
function idOf(record) {
  let [id, unit, at] = [0, 1, 12]
  for (; record[at] >= 128; at++, unit *= 128) id += (record[at] % 128) * unit
  return id + record[at] * unit
}

function endRecord(pairs) {
  const record = new Uint8Array(12 + 8)
  record[0] = END
  viewOf(record).setUint32(1, 8, true)
  viewOf(record).setBigUint64(12, BigInt(pairs), true)
  return record
}

/** Reads a file as far as it can be read: the report, and a store of what is left. */
function read(Store, source, options) {
  if (!ArrayBuffer.isView(source)) throw typeError('a file is checked as bytes', source)
  const { memoryLimit, progress = () => {} } = readOptions(options, 'a check', ['memoryLimit', 'progress'])
  if (typeof progress !== 'function') throw typeError('progress is a function', progress)
  const bytes = viewBytes(source, 'file')
  const file = new File(bytes, progress)
  const limit = readLimit(memoryLimit) ?? Math.max(LEAST_LIMIT, bytes.length * LIMIT_PER_BYTE)
  const without = new Set()
  for (;;) {
    const kept = file.kept(without)
    try {
      return { report: file.report, store: Store.loadSync(kept.bytes(), { memoryLimit: limit }) }
    } catch (error) {
      // What is under a checksum is damage too where it makes no sense, and only that is left out.
      const offset = /at byte (\d+)/.exec(error.message)?.[1]
      const from = offset && kept.fromAt(Number(offset))
      const senseless = file.records.find((record) => record.offset === from && !without.has(from))
      if (error.code !== 'TWINDEX_CORRUPT' || senseless === undefined) throw error
      without.add(from)
      const [, what] = /at byte \d+: (.*)/.exec(error.message)
      file.report.damage.push({ offset: from, bytes: senseless.record.length, what })
      file.report.damage.sort((a, b) => a.offset - b.offset)
    }
  }
}

export function check(Store, source, options) {
  const { report, store } = read(Store, source, options)
  store.closeSync()
  return report
}

export function recover(Store, source, options) {
  const { report, store } = read(Store, source, options)
  const tables = store.tables().map(([name, index]) => {
    const table = store.table(name, { index, keys: 'bytes', values: 'bytes' })
    return { name, index, pairs: table.size }
  })
  const file = store.dumpSync()
  store.closeSync()
  return { report, tables, file }
}
