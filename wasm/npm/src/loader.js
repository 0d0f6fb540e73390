// How a module becomes classes.

import { Core } from './core.js'
import { Cursor } from './cursor.js'
import { TwindexError } from './shared/errors.js'
import { Snapshot } from './shared/snapshot.js'
import { DELETE, KEEP } from './shared/table.js'
import { storeClass } from './store.js'
import { Table } from './table.js'

/**
 * The function `load` of an entry of this package, whose own module is at the URL that `own` gives, and that for files at `files`. It makes caches and runs transactions by what `more` has. Without an argument it gives the
 * classes over the same instance every time; with one, over a new instance of the module that is at this URL, in this
 * response, in these bytes, or compiled already.
 */
export function loader(own, files, more) {
  const entry = { own, files, ...more }
  let shared
  return (source) => {
    if (source !== undefined) return classes(source, entry)
    shared ??= classes(undefined, entry).catch((error) => {
      shared = undefined // the next call tries again
      throw error
    })
    return shared
  }
}

async function classes(source, { own, files, cacheClass, runTransaction, classes: others, ...more }) {
  const core = Object.assign(await instantiate(source, own), more)
  const Cache = cacheClass(core)
  const Store = storeClass(core, runTransaction)
  // Checking is seldom, so its code and a module for it are loaded when they are needed, unless this module can do it.
  const filesCore = () => (core.exports.twindex_check ? core : instantiate(undefined, files))
  return {
    Store,
    Cache,
    Table,
    Cursor,
    Snapshot,
    ...others,
    TwindexError,
    DELETE,
    KEEP,
    check: async (...given) => (await import('./check.js')).check(await filesCore(), ...given),
    recover: async (...given) => (await import('./check.js')).recover(await filesCore(), ...given),
  }
}

/** An instance by itself, for what stands beside this: of the module at the URL that `base` gives, if none is named. */
export async function instantiate(source, base) {
  return new Core(await WebAssembly.instantiate(await compile((await source) ?? base(), base)))
}

export async function compile(source, base) {
  if (source instanceof WebAssembly.Module) return source
  if (ArrayBuffer.isView(source) || source instanceof ArrayBuffer) return WebAssembly.compile(source)
  if (source instanceof Response) return compileResponse(source)
  const url = source instanceof URL ? source : new URL(source, base())
  // Node's fetch has no file: URLs. Asked for in this way, a bundler for browsers does not look for the module.
  const fs = url.protocol === 'file:' && globalThis.process?.getBuiltinModule?.('node:fs/promises')
  return fs ? WebAssembly.compile(await fs.readFile(url)) : compileResponse(await fetch(url))
}

async function compileResponse(response) {
  const fail = (why) => {
    throw new Error(`${response.url}: ${why}`)
  }
  if (!response.ok) fail(response.status)
  // Servers of apps answer with their page where they have no file.
  return WebAssembly.compile(await response.arrayBuffer()).catch(() => fail('no WebAssembly module'))
}
