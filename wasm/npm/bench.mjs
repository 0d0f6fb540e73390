// The npm package in Node, as programs call it: `node bench.mjs [hash] [sorted] [--pairs N] [--keys FILE]`. What Node has beside it
// is measured by `bindings/node/bench.mjs`.
import { readFile } from 'node:fs/promises'
import { load } from 'twindex-wasm'
import { main, Peer } from '../../benches/bench.js'

class Twindex extends Peer {
  constructor(store, index) {
    super()
    this.table = store.table('pairs', { index, keys: 'str', values: 'str' })
    this.insert = (key, value) => this.table.insert(key, value)
    this.replace = (key, value) => this.table.set(key, value)
    this.select = (key) => this.table.select(key)
    this.insertMany = (pairs) => this.table.insertMany(pairs)
    this.selectMany = (keys) => this.table.selectMany(keys)
    // The process's growth would show the module's memory by pieces of it.
    this.held = () => store.memory
  }

  scan(gte, limit) {
    return gte === undefined
      ? this.table.entries()
      : this.table.scan(limit === undefined ? { gte } : { gte, limit })
  }

  steps(gte) {
    const cursor = this.table.cursor({ gte })
    return () => cursor.scanAscNext()
  }
}

/** A fresh instance of the module each time. */
const table = (index) => async () => {
  const { Store } = await load(
    await WebAssembly.compile(await readFile(new URL('twindex.fast.wasm', import.meta.url))),
  )
  return new Twindex(new Store(), index)
}

await main(import.meta.url, { hash: { twindex: table('hash') }, sorted: { twindex: table('sorted') } })
