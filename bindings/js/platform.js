// What this platform is called in the names of native modules.

import { readFileSync } from 'node:fs'

/** Linux has two C libraries, and a module fits only one. A report of Node's would tell, but waits for all threads. */
function libc() {
  try {
    return readFileSync('/proc/self/maps', 'latin1').includes('/ld-musl-') ? 'musl' : 'gnu'
  } catch {
    return 'gnu'
  }
}

const ABI = { linux: libc, win32: () => 'msvc' }

/** The name of this platform, as napi-rs has it: `linux-x64-gnu`. */
export function platform() {
  return [process.platform, process.arch, ABI[process.platform]?.()].filter(Boolean).join('-')
}
