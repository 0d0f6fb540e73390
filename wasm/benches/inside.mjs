// The same as `inside.py` in Node: `node inside.mjs GUEST.wasm hash|sorted --system NAME --keys FILE`.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const SYSTEMS = { hash: { twindex: 0, hashbrown: 2 }, sorted: { twindex: 1, btreemap: 3 } }
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    system: { type: 'string' },
    keys: { type: 'string' },
    pairs: { type: 'string', default: '1000000' },
  },
})
const [guest, work] = positionals
const random = () => Array.from({ length: Number(values.pairs) }, () => randomBytes(8).toString('hex'))
const lines =
  values.keys === undefined ? random() : readFileSync(values.keys, 'utf8').split('\n').filter(Boolean)
const writes = lines.slice(0, Number(values.pairs)).map((line, number) => [number, Buffer.from(line)])
const reads = [...writes]
if (work === 'sorted') reads.sort(([, a], [, b]) => Buffer.compare(a, b))
else
  for (let left = reads.length, seed = 64; left > 1; left--) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    const at = seed % left
    ;[reads[left - 1], reads[at]] = [reads[at], reads[left - 1]]
  }
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(guest)))
for (const [list, pairs] of [writes, reads].entries()) {
  const packed = Buffer.concat(
    pairs.flatMap(([number, key]) => {
      const head = Buffer.alloc(8)
      head.writeUInt32LE(number)
      head.writeUInt32LE(key.length, 4)
      return [head, key]
    }),
  )
  const at = exports.guest_reserve(list, packed.length) >>> 0
  new Uint8Array(exports.memory.buffer).set(packed, at)
}
exports.guest_renew(SYSTEMS[work][values.system], 16)
const show = (figure, unit, value) =>
  console.log(JSON.stringify({ system: values.system, figure, unit, value, params: {} }))
for (const [call, figure] of [
  ['guest_write', 'insert'],
  ['guest_read', work === 'hash' ? 'select' : 'scan'],
]) {
  const start = performance.now()
  const done = exports[call]()
  if (done !== writes.length) throw new Error(`${figure}: pair ${done + 1} of ${writes.length} is wrong`)
  show(figure, '/s', (done / (performance.now() - start)) * 1000)
  if (figure === 'insert') show('bytes', 'bytes', exports.guest_held() / done)
}
