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

// The last argument of the native half: whether to do it at once, or to give a promise.
const NOW = 0
const LATER_ON = 1

export function readPath(path) {
  if (!(path instanceof URL)) return readString(path, 'a path')
  if (path.protocol !== 'file:') throw typeError('a path is a string or a file: URL', path.href)
  return fileURLToPath(path)
}

/** The arguments of the native half. */
function readOpen(path, options) {
  const { durability = 'everysec', readOnly = false, existing = false, memoryLimit } = options
  return [
    readPath(path),
    readString(durability, 'a durability'),
    Number(readBoolean(readOnly, 'readOnly')),
    Number(readBoolean(existing, 'existing')),
    readLimit(memoryLimit),
  ]
}

/** The number of the store in a file. */
export function openFileSync(path, options) {
  return native.openFile(...readOpen(path, readOptions(options, 'an open', OPEN)), undefined, NOW)
}

function freeStore(number) {
  const free = () => native.freeStore(number)
  native.closeStore(number, LATER_ON).then(free, free)
}

/** The same, as a promise. */
export async function openFile(path, options) {
  const read = readOptions(options, 'an open', [...OPEN, ...LATER])
  const rest = readOpen(path, read)
  return later(read, (gauge) => native.openFile(...rest, gauge, LATER_ON), freeStore)
}

/** What loads a store from bytes or from a file. */
function loadOf(source, options) {
  const limit = readLimit(options.memoryLimit)
  if (ArrayBuffer.isView(source)) {
    const bytes = ownBytes(viewBytes(source, 'dump'))
    return (gauge, isLater) => native.loadBytes(bytes, limit, gauge, isLater)
  }
  if (typeof source !== 'string' && !(source instanceof URL)) {
    throw typeError('a store is loaded from bytes or a path', source)
  }
  const path = readPath(source)
  return (gauge, isLater) => native.loadFile(path, limit, gauge, isLater)
}

/** The number of a store with what is in a dump. */
export function loadStoreSync(source, options) {
  return loadOf(source, readOptions(options, 'a load', LOAD))(undefined, NOW)
}

/** The same, as a promise. */
export async function loadStore(source, options) {
  const read = readOptions(options, 'a load', [...LOAD, ...LATER])
  const load = loadOf(source, read)
  return later(read, (gauge) => load(gauge, LATER_ON), freeStore)
}

function parseRecovery(text) {
  const { report, tables } = JSON.parse(text)
  return { report: { ...report, torn: report.torn ?? undefined }, tables }
}

export function checkSync(path, options) {
  const file = readPath(path)
  const { memoryLimit } = readOptions(options, 'a check', LOAD)
  return parseObject(native.check(file, readLimit(memoryLimit), undefined, NOW))
}

export async function check(path, options) {
  const file = readPath(path)
  const read = readOptions(options, 'a check', [...LATER, ...LOAD])
  const limit = readLimit(read.memoryLimit)
  return parseObject(await later(read, (gauge) => native.check(file, limit, gauge, LATER_ON)))
}

export function recoverSync(path, target, options) {
  const files = [readPath(path), readPath(target)]
  const { memoryLimit } = readOptions(options, 'a recovery', LOAD)
  return parseRecovery(native.recover(...files, readLimit(memoryLimit), undefined, NOW))
}

export async function recover(path, target, options) {
  const files = [readPath(path), readPath(target)]
  const read = readOptions(options, 'a recovery', [...LATER, ...LOAD])
  const limit = readLimit(read.memoryLimit)
  return parseRecovery(await later(read, (gauge) => native.recover(...files, limit, gauge, LATER_ON)))
}
