// Looks for damage in the bytes of a file, and saves what is left.

import { openTable } from './expiring.js'
import { makeError, typeError } from './shared/errors.js'
import { INTERNAL } from './shared/internal.js'
import { readLimit, readOptions } from './shared/options.js'
import { viewBytes } from './shared/views.js'
import { limitBits, storeClass } from './store.js'
import { putBytes } from './text.js'
import { hearersOf, openWatch } from './watch.js'

const LEAST_LIMIT = 256 * 1024 * 1024
const LIMIT_PER_BYTE = 32

const FIGURES = ['version', 'bytes', 'dumpBytes', 'logBytes', 'records', 'dumpPairs', 'operations']
const NO_OFFSET = 2n ** 64n - 1n

const decoder = new TextDecoder()

/** Fails where the module is one without files. Has the other do all that it can. */
export function checkFiles(core) {
  if (core.exports.twindex_file === undefined)
    throw makeError('TWINDEX_NOT_SUPPORTED', 'this module has no files: use twindex.files.wasm')
  Object.assign(core, { openTable, openWatch })
  hearersOf(core)
}

/** Calls `twindex_check` or `twindex_salvage`: the status and the report. */
function read(core, name, source, options) {
  if (!ArrayBuffer.isView(source)) throw typeError('a file is checked as bytes', source)
  const { memoryLimit } = readOptions(options, 'a check', ['memoryLimit'])
  const bytes = viewBytes(source, 'file')
  const limit = readLimit(memoryLimit) ?? Math.max(LEAST_LIMIT, bytes.length * LIMIT_PER_BYTE)
  checkFiles(core)
  core.seed()
  const length = putBytes(core, 0, bytes)
  const status = core.status(core.exports[name](core.input, length, limitBits(limit)))
  return { status, report: readReport(core.answerBytes()) }
}

function readReport(answer) {
  const view = new DataView(answer.buffer)
  let at = 0
  const next = () => {
    at += 8
    return view.getBigUint64(at - 8, true)
  }
  const report = Object.fromEntries(FIGURES.map((name) => [name, Number(next())]))
  const [offset, lost] = [next(), next()]
  const damage = []
  while (at < answer.length) {
    const place = { offset: Number(next()), bytes: Number(next()) }
    const text = at + 4
    at = text + view.getUint32(at, true)
    damage.push({ ...place, what: decoder.decode(answer.subarray(text, at)) })
  }
  const torn = offset === NO_OFFSET ? undefined : { offset: Number(offset), bytes: Number(lost) }
  return { ...report, damage, torn }
}

export const check = (core, source, options) => read(core, 'twindex_check', source, options).report

export function recover(core, source, options) {
  const { status, report } = read(core, 'twindex_salvage', source, options)
  const store = new (storeClass(core))(INTERNAL, status)
  try {
    const tables = store.tables().map(([name, index]) => {
      const { size } = store.table(name, { index, keys: 'bytes', values: 'bytes' })
      return { name, index, pairs: size }
    })
    return { report, tables, file: store.dumpSync() }
  } finally {
    store.closeSync()
  }
}
