// The npm package in Node, as programs call it, beside what they use today: after `npm install --prefix ../../bindings/node/bench`
// `node bench.mjs [hash] [sorted] [cache] [--pairs N] [--keys FILE] [--rounds N]` prints ratios.
import { readFile } from 'node:fs/promises'
import { load } from 'twindex-wasm'
import { main, Peer, peers } from '../../benches/bench.js'

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
const fresh = async () =>
  load(await WebAssembly.compile(await readFile(new URL('twindex.fast.wasm', import.meta.url))))

const table = (index) => async () => {
  const { Store } = await fresh()
  return new Twindex(new Store(), index)
}

const cache = async () => {
  const { Cache } = await fresh()
  return (max) => new Cache({ max, values: 'str' })
}

await main(import.meta.url, {
  hash: { twindex: table('hash'), ...peers.hash },
  sorted: { twindex: table('sorted'), ...peers.sorted },
  cache: { twindex: cache, ...peers.cache },
})
