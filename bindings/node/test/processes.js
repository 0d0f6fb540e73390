// Other processes, and how a test talks to one that has a store.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('./children/remote.js', import.meta.url))

const running = new Set()
after(() => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts a program in Node. It is killed when the tests of the file are over, if it still runs then. */
export function start(args, options = {}) {
  // Its errors go through a pipe of our own: a process that held the runner's output would keep it waiting.
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options })
  child.stderr?.pipe(process.stderr, { end: false })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** A process that has the file at `path` open, and does what it is told. */
export async function remote(path, durability = 'everysec') {
  const child = start([script, path, durability])
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
