// A store that a browser keeps, as a .twx file of the origin:
//
//   import { open } from 'twindex-wasm/browser'
//   const store = await open('app')

import { ConnectedStore } from './src/browser/connect.js'
import { alive, checkSecure, lead, live } from './src/browser/lock.js'
import { IndexedFiles, PrivateFiles } from './src/browser/storage.js'
import {
  checkKept,
  exportKept,
  importKept,
  isKept,
  openKept,
  recoverKept,
  renameKept,
} from './src/browser/store.js'
import { compile, instantiate } from './src/loader.js'
import { describe, makeError, rangeError, typeError } from './src/shared/errors.js'
import { readBoolean, readCount, readLimit, readOptions } from './src/shared/options.js'
import { viewBytes } from './src/shared/views.js'

const MODULE = () => new URL('./twindex.files.wasm', import.meta.url)
const PLACES = { opfs: PrivateFiles, indexeddb: IndexedFiles }
const CHECK = ['memoryLimit', 'source', 'storage']
const OPTIONS = ['durability', 'memoryLimit', 'readOnly', 'source', 'storage', 'wait']

const SHARED = ['durability', 'memoryLimit', 'source', 'storage', 'timeout']

/** How many milliseconds a write waits for the tab that has the store. */
const TIMEOUT = 30_000
/** Timers take no more than twice that. */
const MOST_TIMEOUT = 2 ** 30
const AGAIN = 1000

/** A file's name has at most 255 bytes, of which the store's name takes these. */
const NAME_BYTES = 230

function checkName(name) {
  if (typeof name !== 'string' || name === '') throw typeError('the name of a store is a text', name)
  let length
  try {
    ;({ length } = encodeURIComponent(name))
  } catch {
    throw makeError('TWINDEX_ENCODING', `the name of a store has half a character: ${describe(name)}`)
  }
  if (length > NAME_BYTES) {
    throw rangeError(
      `the name of a store has at most ${NAME_BYTES} bytes as part of a URL, this one ${length}`,
    )
  }
}

const loadCore = () => instantiate(undefined, MODULE)

function placeIn(storage) {
  const Place =
    storage === undefined
      ? Object.values(PLACES).find((place) => place.isHere())
      : Object.hasOwn(PLACES, storage) && PLACES[storage]
  if (!Place?.isHere?.()) {
    throw makeError('TWINDEX_IO', `there is no storage ${describe(storage ?? 'opfs or indexeddb')} here`)
  }
  return Place
}

function placeOf(name, storage) {
  return new (placeIn(storage))(name)
}

function checkDurability(durability) {
  if (['none', 'everysec', 'always'].includes(durability)) return
  throw makeError(
    'TWINDEX_UNKNOWN_DURABILITY',
    `unknown durability '${durability}', it is 'none', 'everysec' or 'always'`,
  )
}

/** Opens the store of this name, or creates it. */
export async function open(name, options) {
  checkName(name)
  const read = readOptions(options, 'a store', OPTIONS)
  const { durability = 'everysec', readOnly = false, wait = false, source, storage, memoryLimit } = read
  checkDurability(durability)
  readBoolean(readOnly, 'readOnly')
  readBoolean(wait, 'wait')
  const place = placeOf(name, storage)
  const lock = readOnly ? undefined : await lead(name, wait)
  try {
    const core = await instantiate(source, MODULE)
    return await openKept(core, place, { durability, readOnly, memoryLimit, lock })
  } catch (error) {
    lock?.close()
    lock?.release()
    throw error
  }
}

/** Opens the store of this name in one tab or worker of many, all of which read and write it. */
export async function connect(name, options) {
  checkName(name)
  const read = readOptions(options, 'a connected store', SHARED)
  const { durability = 'everysec', memoryLimit, source, storage, timeout = TIMEOUT } = read
  checkDurability(durability)
  readLimit(memoryLimit)
  const most = Math.min(readCount(timeout, 'a timeout'), MOST_TIMEOUT)
  checkSecure()
  const module = await compile((await source) ?? MODULE(), MODULE)
  const host = {
    name,
    lock: (signal) => lead(name, true, signal),
    live,
    alive,
    channel: () => new BroadcastChannel(`twindex:${name}`),
    place: (kind = storage) => placeToShare(name, kind),
    core: () => instantiate(module),
    onHide,
  }
  return ConnectedStore.open(host, { durability, memoryLimit, timeout: most, again: AGAIN })
}

/** Where a store is or will be, and whether it can be written from here: windows read what workers keep in `opfs`. */
async function placeToShare(name, storage) {
  if (storage !== undefined && !Object.hasOwn(PLACES, storage)) placeIn(storage) // says so
  for (const Place of storage === undefined ? Object.values(PLACES) : [PLACES[storage]]) {
    const isThere = async () => (await Place.names()).has(name)
    const isIt = storage !== undefined || (await isThere().catch(() => false)) // or there is no such storage
    if (isIt) return { place: new Place(name), canHold: Place.isHere() }
  }
  return { place: placeOf(name), canHold: true }
}

/** Says when a page is put aside, as browsers do for the button "back", and when it comes again. */
function onHide(hide, show) {
  const hear = ({ type, persisted }) => persisted && (type === 'pagehide' ? hide() : show())
  for (const type of ['pagehide', 'pageshow']) globalThis.addEventListener(type, hear)
  return () => {
    for (const type of ['pagehide', 'pageshow']) globalThis.removeEventListener(type, hear)
  }
}

/** The names of the stores that are kept in a storage. */
export async function list(options) {
  const { storage } = readOptions(options, 'list', ['storage'])
  const Place = placeIn(storage)
  const names = []
  for (const [name, isBegun] of await Place.names()) {
    if (!isBegun || (await isKept(new Place(name), loadCore))) names.push(name)
  }
  return names.sort()
}

/** Removes a store that nobody has open for writing; whether there was one. */
export async function remove(name, options) {
  checkName(name)
  const place = placeOf(name, readOptions(options, 'remove', ['storage']).storage)
  return leading([name], async () => {
    const isThere = await isKept(place, loadCore)
    await place.destroy()
    return isThere
  })
}

/** Gives a store that nobody has open another name, which must be free. */
export async function rename(name, to, options) {
  checkName(name)
  checkName(to)
  const { storage } = readOptions(options, 'rename', ['storage'])
  if (name === to) throw makeError('TWINDEX_IO', 'there is a store of this name already')
  return leading([name, to], async () =>
    renameKept(await loadCore(), placeOf(name, storage), placeOf(to, storage)),
  )
}

/** The bytes of the file of the store of this name. */
export async function exportFile(name, options) {
  checkName(name)
  const { source, storage } = readOptions(options, 'exportFile', ['source', 'storage'])
  return exportKept(await instantiate(source, MODULE), placeOf(name, storage))
}

/** Makes a store of the bytes of a file. */
export async function importFile(name, file, options) {
  checkName(name)
  const { source, storage, ...rest } = readOptions(options, 'importFile', CHECK)
  const isBlob = typeof Blob === 'function' && file instanceof Blob
  if (!isBlob && !ArrayBuffer.isView(file)) throw typeError('a file is a Blob or bytes', file)
  const bytes = isBlob ? new Uint8Array(await file.arrayBuffer()) : viewBytes(file, 'file')
  return leading([name], async () =>
    importKept(await instantiate(source, MODULE), placeOf(name, storage), bytes, rest),
  )
}

/** Reads the file of the store of this name, and verifies every checksum. */
export async function check(name, options) {
  checkName(name)
  const { source, storage, ...rest } = readOptions(options, 'check', CHECK)
  return checkKept(await instantiate(source, MODULE), placeOf(name, storage), rest)
}

/** Saves what is left of a damaged store under another name. */
export async function recover(name, to, options) {
  checkName(name)
  checkName(to)
  const { source, storage, ...rest } = readOptions(options, 'recover', CHECK)
  return leading([to], async () => {
    const core = await instantiate(source, MODULE)
    return recoverKept(core, placeOf(name, storage), placeOf(to, storage), rest)
  })
}

/** Does work while it leads over stores. */
async function leading(names, work) {
  const locks = []
  try {
    for (const name of names) locks.push(await lead(name, false))
    return await work()
  } finally {
    for (const lock of locks) {
      lock.close()
      lock.release()
    }
  }
}
