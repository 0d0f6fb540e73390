// A queue of jobs in a file, worked off by threads: node job-queue.js queue.twx 8 [FILE...]
//
// Each file is a job, which counts its lines. The program may be killed at any time: whatever was begun and not finished is
// done when it runs again.
import { readFileSync } from 'node:fs'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { openSync } from 'twindex'

const [path, threads, ...files] = isMainThread ? process.argv.slice(2) : [workerData]

const store = openSync(path)
const waiting = store.table('waiting', { index: 'sorted', keys: 'tuple' })
const begun = store.table('begun', { index: 'sorted', keys: 'tuple' })
const done = store.table('done', { index: 'sorted', values: 'int' })

function work() {
  for (const [key, file] of waiting) {
    // In `begun` first, so that the job is always in a table. The worker that deletes it from `waiting` does it.
    begun.upsert(key, file)
    if (!waiting.delete(key)) continue
    const lines = readFileSync(file, 'utf8').split('\n').length - 1
    store.batch((batch) => batch.upsert(done, file, lines).delete(begun, key))
  }
}

async function main() {
  store.batch((batch) => {
    // What an earlier run has begun goes back, but for what it has finished.
    for (const [key, file] of begun) {
      batch.delete(begun, key)
      if (!done.has(file)) batch.upsert(waiting, key, file)
    }
    const now = Date.now()
    files.forEach((file, at) => {
      batch.insert(waiting, [now, at], file)
    })
  })
  const workers = Array.from(
    { length: Number(threads) },
    () => new Worker(new URL(import.meta.url), { workerData: path }),
  )
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve))))
  for (const [file, lines] of done) console.log(lines, file)
  await store.close()
}

if (isMainThread) await main()
else work()
