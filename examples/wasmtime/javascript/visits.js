import { increment } from 'wasi:keyvalue/atomics@0.2.0-draft2'
import { getMany } from 'wasi:keyvalue/batch@0.2.0-draft2'
import { open } from 'wasi:keyvalue/store@0.2.0-draft2'

// QuickJS has no TextEncoder.
const bytes = text => Uint8Array.from(unescape(encodeURIComponent(text)), char => char.charCodeAt(0))
const text = bytes => decodeURIComponent(escape(String.fromCharCode(...bytes)))

/** Counts visits in a bucket of its host: for everybody, and for each visitor. */
export function visit(name) {
  const bucket = open('visits')
  const mine = increment(bucket, name, 1)
  const all = increment(bucket, 'all', 1)
  const [[, last]] = getMany(bucket, ['last'])
  bucket.set('last', bytes(name))
  return `JavaScript: ${name} was here ${mine} times, all together ${all} times; before: ${last ? text(last) : 'nobody'}`
}
