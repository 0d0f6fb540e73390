// The part of `ratios.rs` that runs in Node: prints what a pair took of each verb, in nanoseconds, in the module's three ways.
//
//   node ratios.mjs MODULE FOLDER INDEX

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import binaryen from '../npm/node_modules/binaryen/index.js'

const [modulePath, folder, index] = process.argv.slice(2)
const module = new WebAssembly.Module(readFileSync(modulePath))
const text = readFileSync(new URL('driver.wat', import.meta.url), 'utf8')
const driverModule = new WebAssembly.Module(binaryen.parseText(text).emitBinary())
const NO_END = [0, 0, 0, 0, 0, 0]
const BLOCK = 1000

function readBlocks(name) {
  const bytes = readFileSync(join(folder, name))
  const blocks = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32LE(at)
    blocks.push(bytes.subarray(at + 4, end))
    at = end
  }
  return blocks
}

const [pairBlocks, keyBlocks] = ['pairs', 'keys'].map(readBlocks)

/** An instance with a table, and a buffer for the longest block. */
function open() {
  const { exports } = new WebAssembly.Instance(module)
  const input = exports.twindex_alloc(1 << 20)
  const answer = exports.twindex_answer()
  let bytes = new Uint8Array(exports.memory.buffer)
  let view = new DataView(exports.memory.buffer)
  const refresh = () => {
    if (bytes.length > 0) return
    bytes = new Uint8Array(exports.memory.buffer)
    view = new DataView(exports.memory.buffer)
  }
  const put = (block) => {
    refresh()
    bytes.set(block, input)
  }
  const check = (status) => {
    refresh()
    if (status < 0) throw new Error(`the status ${status}`)
    return status
  }
  put(Buffer.from(`pairs${index}`))
  const store = exports.twindex_store_new(2n ** 64n - 1n)
  const table = check(exports.twindex_table(store, input, 5, input + 5, index.length))
  return {
    exports,
    table,
    input,
    put,
    check,
    count: () => Number(view.getBigInt64(answer + 8, true)),
    length: () => view.getUint32(answer + 4, true),
    sum: () => {
      const at = view.getUint32(answer, true)
      return bytes.subarray(at, at + view.getUint32(answer + 4, true)).reduce((all, byte) => all + byte, 0)
    },
    cursor: () => check(exports.twindex_cursor(table, ...NO_END)),
  }
}

function inside() {
  const { exports, table, input, put, check, cursor } = open()
  const driver = new WebAssembly.Instance(driverModule, { twindex: exports }).exports
  const each = (verb) => (block) => {
    put(block)
    return check(verb(table, input, input + block.length))
  }
  return {
    insert: each(driver.insert),
    select: each(driver.select),
    scan: () => check(driver.scan(cursor())),
  }
}

function inBlocks() {
  const { exports, table, input, put, check, cursor, count, length, sum } = open()
  return {
    insert(block) {
      put(block)
      check(exports.twindex_insert_many(table, input, block.length))
      return sum()
    },
    select(block) {
      put(block)
      check(exports.twindex_select_many(table, input, block.length))
      return length() / 20
    },
    scan() {
      const opened = cursor()
      for (let pairs = 0; ; pairs += count()) {
        check(exports.twindex_scan_asc_next_many(opened, BLOCK, 2 ** 32 - 1))
        if (count() === 0) return pairs
      }
    },
  }
}

function calls() {
  const { exports, table, input, put, check, cursor } = open()
  return {
    insert(block) {
      let done = 0
      for (let at = 0; at < block.length; ) {
        const key = block.readUInt32LE(at)
        const end = at + 8 + key + block.readUInt32LE(at + 4)
        put(block.subarray(at + 8, end))
        done += check(exports.twindex_insert(table, input, key, input + key, end - at - 8 - key))
        at = end
      }
      return done
    },
    select(block) {
      let done = 0
      for (let at = 0; at < block.length; ) {
        const end = at + 4 + block.readUInt32LE(at)
        put(block.subarray(at + 4, end))
        done += check(exports.twindex_select(table, input, end - at - 4))
        at = end
      }
      return done
    },
    scan() {
      const opened = cursor()
      let pairs = 0
      while (check(exports.twindex_scan_asc_next(opened)) === 1) pairs++
      return pairs
    },
  }
}

function run({ insert, select, scan }) {
  const over = (verb, blocks) => () => blocks.reduce((all, block) => all + verb(block), 0)
  const verbs = [over(insert, pairBlocks), over(select, keyBlocks), ...(index === 'sorted' ? [scan] : [])]
  const counts = []
  const times = verbs.map((verb) => {
    const start = process.hrtime.bigint()
    counts.push(verb())
    return Number(process.hrtime.bigint() - start) / counts[0]
  })
  if (counts.some((count) => count !== counts[0])) throw new Error(`not every pair was found: ${counts}`)
  return [...times, 0].slice(0, 3)
}

console.log(JSON.stringify([inside(), inBlocks(), calls()].map(run)))
