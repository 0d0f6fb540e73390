// A store that a browser keeps, as a .twx file of the origin:
//
//   import { open } from 'twindex-wasm/browser'
//   const store = await open('app')

import { IndexedFiles, PrivateFiles } from './src/browser/places.js'
import { checkKept, openKept, recoverKept } from './src/browser/store.js'
import { instantiate } from './src/load.js'
import { makeError, typeError } from './src/shared/errors.js'
import { readOptions } from './src/shared/options.js'

const MODULE = new URL('./twindex.wasm', import.meta.url)
const PLACES = { opfs: PrivateFiles, indexeddb: IndexedFiles }
const OPTIONS = ['durability', 'memoryLimit', 'readOnly', 'source', 'storage', 'wait']

function checkName(name) {
  if (typeof name !== 'string' || name === '') throw typeError('the name of a store is a text', name)
}

function placeOf(name, storage) {
  const Place =
    storage === undefined ? Object.values(PLACES).find((place) => place.isHere()) : PLACES[storage]
  if (!Place?.isHere()) {
    throw makeError('TWINDEX_IO', `there is no storage '${storage ?? 'opfs or indexeddb'}' here`)
  }
  return new Place(name)
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
  const release = readOnly ? undefined : await lead(name, wait)
  try {
    return await openKept(await instantiate(source, MODULE), place, {
      durability,
      readOnly,
      memoryLimit,
      release,
    })
  } catch (error) {
    release?.()
    throw error
  }
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
  const release = await lead(to, false)
  try {
    const core = await instantiate(source, MODULE)
    return await recoverKept(core, placeOf(name, storage), placeOf(to, storage), options)
  } finally {
    release()
  }
}

/** Takes the lead over a store, which one tab or worker has at a time and loses when it ends: how to give it up. */
function lead(name, wait) {
  return new Promise((resolve, reject) => {
    const hold = (lock) => {
      if (lock === null) {
        reject(
          makeError(
            'TWINDEX_IN_USE',
            `another tab or worker has the store '${name}' open for writing; readOnly: true opens it for reading, wait: true waits`,
          ),
        )
        return undefined
      }
      return new Promise((release) => resolve(release))
    }
    navigator.locks.request(`twindex:${name}`, { ifAvailable: !wait }, hold).catch(reject)
  })
}
