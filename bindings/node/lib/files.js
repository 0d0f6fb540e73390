// Stores in files.

import { fileURLToPath } from 'node:url'
import { parseObject } from './crossing.js'
import { native } from './native.js'
import { typeError } from './shared/errors.js'
import { readBoolean, readLimit, readOptions, readString } from './shared/options.js'
import { ownBytes, viewBytes } from './shared/views.js'
import { LATER, later } from './tasks.js'

const OPEN = ['durability', 'readOnly', 'existing', 'memoryLimit']
const LOAD = ['memoryLimit']

export function readPath(path) {
  if (!(path instanceof URL)) return readString(path, 'a path')
  if (path.protocol !== 'file:') throw typeError('a path is a string or a file: URL', path.href)
  return fileURLToPath(path)
}

function freeStore(number) {
  const free = () => native.freeStore(number)
  native.closeStore(number, 1).then(free, free)
}

/**
 * A function that does its work at once, and one that promises it. `prepare(options, ...given)` checks the arguments, and gives
 * `start(gauge, isLater)`; `show` makes of its answer what the user gets.
 */
function both(arity, what, names, prepare, show = (answer) => answer, undo = undefined) {
  const doNow = (...given) => show(prepare(readOptions(given[arity], what, names), ...given)(undefined, 0))
  const doLater = async (...given) => {
    const read = readOptions(given[arity], what, [...names, ...LATER])
    const start = prepare(read, ...given)
    return show(await later(read, (gauge) => start(gauge, 1), undo))
  }
  return [doNow, doLater]
}

/** The number of the store in a file. */
function prepareOpen({ durability = 'everysec', readOnly = false, existing = false, memoryLimit }, path) {
  const given = [
    readPath(path),
    readString(durability, 'a durability'),
    Number(readBoolean(readOnly, 'readOnly')),
    Number(readBoolean(existing, 'existing')),
    readLimit(memoryLimit),
  ]
  return (...how) => native.openFile(...given, ...how)
}

/** The number of a store with what is in a dump, from bytes or from a file. */
function prepareLoad({ memoryLimit }, source) {
  const limit = readLimit(memoryLimit)
  if (ArrayBuffer.isView(source)) {
    const bytes = ownBytes(viewBytes(source, 'dump'))
    return (...how) => native.loadBytes(bytes, limit, ...how)
  }
  if (typeof source !== 'string' && !(source instanceof URL)) {
    throw typeError('a store is loaded from bytes or a path', source)
  }
  const path = readPath(source)
  return (...how) => native.loadFile(path, limit, ...how)
}

function prepareCheck({ memoryLimit }, path) {
  const given = [readPath(path), readLimit(memoryLimit)]
  return (...how) => native.check(...given, ...how)
}

function prepareRecover({ memoryLimit }, path, target) {
  const given = [readPath(path), readPath(target), readLimit(memoryLimit)]
  return (...how) => native.recover(...given, ...how)
}

function parseRecovery(text) {
  const { report, tables } = JSON.parse(text)
  return { report: { ...report, torn: report.torn ?? undefined }, tables }
}

export const [openFileSync, openFile] = both(1, 'an open', OPEN, prepareOpen, undefined, freeStore)
export const [loadStoreSync, loadStore] = both(1, 'a load', LOAD, prepareLoad, undefined, freeStore)
export const [checkSync, check] = both(1, 'a check', LOAD, prepareCheck, parseObject)
export const [recoverSync, recover] = both(2, 'a recovery', LOAD, prepareRecover, parseRecovery)
