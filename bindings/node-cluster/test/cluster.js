// A cluster for the tests: the one whose URL is in `TWINDEX_CLUSTER_URL`, or one of their own. Those with TLS are named in
// `TWINDEX_CLUSTER_TLS`.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'

async function start(variable, lines, ...more) {
  const given = process.env[variable]
  if (given) return { found: given.split('\n'), end() {} }
  const child = spawn('cargo', ['xtask', 'cluster', ...more], { stdio: ['pipe', 'pipe', 'ignore'] })
  let text = ''
  child.stdout.on('data', (data) => {
    text += data
  })
  // Fails where the servers do not start in time.
  const signal = AbortSignal.timeout(120_000)
  while (text.split('\n').length <= lines) await once(child.stdout, 'data', { signal })
  return { found: text.trim().split('\n'), end: () => child.stdin.end('\n') }
}

export async function cluster() {
  const { found, end } = await start('TWINDEX_CLUSTER_URL', 1)
  return { url: found[0], end }
}

/** A cluster and one server that speak TLS: their URLs, and the certificate of their authority. */
export async function secureServers() {
  const { found, end } = await start('TWINDEX_CLUSTER_TLS', 3, '--tls')
  return { urls: { cluster: found[0], server: found[1] }, authority: readFileSync(found[2]), end }
}
