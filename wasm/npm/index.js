// The engine as an ES module, for browsers, Node, Deno and Bun:
//
//   import { load } from 'twindex-wasm'
//   const { Store } = await load()

import { Core } from './src/core.js'
import { Cursor } from './src/cursor.js'
import { TwindexError } from './src/errors.js'
import { storeClass } from './src/store.js'
import { Table } from './src/table.js'

export { TwindexError }

/** Where the module is; bundlers know this form. */
const DEFAULT = new URL('./twindex.wasm', import.meta.url)

let shared

/**
 * The classes over an instance of the module. Without an argument it is the same instance every time; with one, a new
 * instance of the module that is at this URL, in this response, in these bytes, or compiled already.
 */
export function load(source) {
  if (source !== undefined) return classes(source)
  shared ??= classes(DEFAULT).catch((error) => {
    shared = undefined // the next call tries again
    throw error
  })
  return shared
}

async function classes(source) {
  return { Store: storeClass(await instantiate(source)), Table, Cursor, TwindexError }
}

/** An instance by itself, for what stands beside this file. */
export async function instantiate(source = DEFAULT) {
  return new Core(await WebAssembly.instantiate(await compile(await source)))
}

async function compile(source) {
  if (source instanceof WebAssembly.Module) return source
  if (ArrayBuffer.isView(source) || source instanceof ArrayBuffer) return WebAssembly.compile(source)
  if (globalThis.Response && source instanceof Response) return compileResponse(source)
  const url = new URL(source, import.meta.url)
  // Node's fetch has no file: URLs. Asked for in this way, a bundler for browsers does not look for the module.
  const fs = url.protocol === 'file:' && globalThis.process?.getBuiltinModule?.('node:fs/promises')
  return fs ? WebAssembly.compile(await fs.readFile(url)) : compileResponse(await fetch(url))
}

async function compileResponse(response) {
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${response.statusText}`)
  // Streaming takes nothing but this type, which not every server gives.
  if (response.headers.get('content-type') === 'application/wasm')
    return WebAssembly.compileStreaming(response)
  return WebAssembly.compile(await response.arrayBuffer())
}
