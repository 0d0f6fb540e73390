// A cluster for the tests: the one whose URL is in `TWINDEX_CLUSTER_URL`, or one of their own.

import { spawn } from 'node:child_process'
import { once } from 'node:events'

export async function cluster() {
  const { TWINDEX_CLUSTER_URL: given } = process.env
  if (given) return { url: given, end() {} }
  const child = spawn('cargo', ['xtask', 'cluster'], { stdio: ['pipe', 'pipe', 'ignore'] })
  let text = ''
  child.stdout.on('data', (data) => {
    text += data
  })
  while (!text.includes('\n')) await once(child.stdout, 'data')
  return { url: text.trim(), end: () => child.stdin.end('\n') }
}
