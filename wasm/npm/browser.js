// A store that a browser keeps, as a .twx file of the origin:
//
//   import { open } from 'twindex-wasm/browser'
//   const store = await open('app')

import { IndexedFiles, PrivateFiles } from './src/browser/storage.js'
import { checkKept, openKept, recoverKept, renameKept } from './src/browser/store.js'
import { instantiate } from './src/loader.js'
import { makeError, typeError } from './src/shared/errors.js'
import { readOptions } from './src/shared/options.js'

const MODULE = new URL('./twindex.files.wasm', import.meta.url)
const PLACES = { opfs: PrivateFiles, indexeddb: IndexedFiles }
const OPTIONS = ['durability', 'memoryLimit', 'readOnly', 'source', 'storage', 'wait']

function checkName(name) {
  if (typeof name !== 'string' || name === '') throw typeError('the name of a store is a text', name)
}

function placeIn(storage) {
  const Place =
    storage === undefined ? Object.values(PLACES).find((place) => place.isHere()) : PLACES[storage]
  if (!Place?.isHere()) {
    throw makeError('TWINDEX_IO', `there is no storage '${storage ?? 'opfs or indexeddb'}' here`)
  }
  return Place
}

function placeOf(name, storage) {
  return new (placeIn(storage))(name)
}

/** Opens the store of this name, or creates it. */
export async function open(name, options) {
  checkName(name)
  const read = readOptions(options, 'a store', OPTIONS)
  const { durability = 'everysec', readOnly = false, wait = false, source, storage, memoryLimit } = read
  if (!['none', 'everysec', 'always'].includes(durability)) {
    throw makeError(
      'TWINDEX_UNKNOWN_DURABILITY',
      `unknown durability '${durability}', it is 'none', 'everysec' or 'always'`,
    )
  }
  const place = placeOf(name, storage)
  const lock = readOnly ? undefined : await lead(name, wait)
  try {
    const core = await instantiate(source, MODULE)
    return await openKept(core, place, { durability, readOnly, memoryLimit, lock })
  } catch (error) {
    lock?.release()
    throw error
  }
}

/** The names of the stores that are kept in a storage. */
export async function list({ storage } = {}) {
  return (await placeIn(storage).names()).sort()
}

/** Removes a store that nobody has open for writing; whether there was one. */
export function remove(name, { storage } = {}) {
  checkName(name)
  return leading([name], async () => {
    const place = placeOf(name, storage)
    const isThere = (await place.list()).length > 0
    await place.destroy()
    return isThere
  })
}

/** Gives a store that nobody has open another name, which must be free. */
export function rename(name, to, { storage } = {}) {
  checkName(name)
  checkName(to)
  return leading([name, to], () => renameKept(placeOf(name, storage), placeOf(to, storage)))
}

/** Reads the file of the store of this name, and verifies every checksum. */
export async function check(name, { source, storage, ...options } = {}) {
  checkName(name)
  return checkKept(await instantiate(source, MODULE), placeOf(name, storage), options)
}

/** Saves what is left of a damaged store under another name. */
export async function recover(name, to, { source, storage, ...options } = {}) {
  checkName(name)
  checkName(to)
  return leading([to], async () => {
    const core = await instantiate(source, MODULE)
    return recoverKept(core, placeOf(name, storage), placeOf(to, storage), options)
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

/** The stores that this tab or worker is closing, until each is free. */
const closing = new Map()

/** Takes the lead over a store, which one tab or worker has at a time and loses when it ends. */
async function lead(name, wait) {
  await closing.get(name)
  return new Promise((resolve, reject) => {
    const hold = (held) => {
      if (held === null) {
        reject(
          makeError(
            'TWINDEX_IN_USE',
            `another tab or worker has the store '${name}' open for writing; readOnly: true opens it for reading, wait: true waits`,
          ),
        )
        return undefined
      }
      return new Promise((release) => {
        const close = () => {
          const free = released.finally(() => closing.get(name) === free && closing.delete(name))
          closing.set(name, free)
        }
        resolve({ close, release })
      })
    }
    const released = navigator.locks.request(`twindex:${name}`, { ifAvailable: !wait }, hold)
    released.catch(reject)
  })
}
