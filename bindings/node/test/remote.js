// Another process with a store, and how a test talks to it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('./children/remote.js', import.meta.url))

/** A process that has the file at `path` open, and does what it is told. */
export async function remote(path, durability = 'everysec') {
  const child = spawn(process.execPath, [script, path, durability], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  await lines.next()
  const exit = once(child, 'exit')
  return {
    async tell(...call) {
      child.stdin.write(`${JSON.stringify(call)}\n`)
      return JSON.parse((await lines.next()).value)
    },
    /** Ends it as it would end by itself. */
    async end() {
      child.stdin.end()
      await exit
    },
    async kill() {
      child.kill('SIGKILL')
      await exit
    },
  }
}

/** Waits until something is so. */
export async function until(what, isSo) {
  const end = Date.now() + 60_000
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`it is still not so that ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
