'use strict'
// Stores in files.

const { fileURLToPath } = require('node:url')
const native = require('./native.cjs')
const { typeError } = require('./errors.cjs')
const { LATER, later } = require('./later.cjs')
const { readOptions, readBoolean, readString, readLimit } = require('./options.cjs')

const OPEN = ['durability', 'readOnly', 'existing', 'memoryLimit']

function readPath(path) {
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
function openFile(path, options) {
  return native.openFile(...readOpen(path, readOptions(options, 'an open', OPEN)), undefined, 0)
}

function freeStore(number) {
  native.closeStore(number, 1).then(
    () => native.freeStore(number),
    () => native.freeStore(number),
  )
}

/** The same, as a promise. */
async function openFileLater(path, options) {
  const read = readOptions(options, 'an open', [...OPEN, ...LATER])
  const rest = readOpen(path, read)
  return later(read, (gauge) => native.openFile(...rest, gauge, 1), freeStore)
}

async function check(path, options) {
  const file = readPath(path)
  const read = readOptions(options, 'a check', [...LATER, 'memoryLimit'])
  const limit = readLimit(read.memoryLimit)
  return later(read, (gauge) => native.check(file, limit, gauge, 1))
}

async function recover(from, to, options) {
  const files = [readPath(from), readPath(to)]
  const read = readOptions(options, 'a recovery', [...LATER, 'memoryLimit'])
  const limit = readLimit(read.memoryLimit)
  return later(read, (gauge) => native.recover(...files, limit, gauge, 1))
}

module.exports = { readPath, openFile, openFileLater, check, recover }
