// What this platform is called in the names of native modules. The package for clusters has a copy.

/** Linux has two C libraries, and a module fits only one. */
function libc() {
  // Else the report looks up the names of all network peers.
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'gnu'
}

const ABI = { linux: libc, win32: () => 'msvc' }

/** The name of this platform, as napi-rs has it: `linux-x64-gnu`. */
export function platform() {
  return [process.platform, process.arch, ABI[process.platform]?.()].filter(Boolean).join('-')
}
