// What the tests share: files of their own, threads, and other processes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

/** A folder of the test file's own. */
export const folder = mkdtempSync(join(tmpdir(), 'twindex-test-'))
after(() => rmSync(folder, { recursive: true }))

let files = 0
/** Where no file is yet. */
export const newPath = () => join(folder, `${++files}.twx`)

export const here = (name) => fileURLToPath(new URL(name, import.meta.url))

/** What an error of this code has. */
export const code = (name, more) => ({ code: `TWINDEX_${name}`, ...more })

/** A thread that does one of the jobs of `worker.js`. */
export const thread = (job, given) => new Worker(here('./worker.js'), { workerData: { job, given } })

/** What a thread says next. */
export const heard = async (worker) => (await once(worker, 'message'))[0]

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
  const child = start([here('./children/remote.js'), path, durability])
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

/** Waits until the keys of a table have expired. */
export const expire = (table, ...keys) =>
  until(`${keys} are absent`, () => !keys.some((key) => table.has(key)))
