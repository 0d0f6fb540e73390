// Watches, as far as they need files, batches, threads or a process of their own. What is told, and in which order, is tested in
// `durable`.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Store } from 'twindex'
import { code, here, thread } from './helpers.js'

const put = (table, key, value) => ({ kind: 'put', table, key, value })

test('a watch gives what came before its store was closed', async () => {
  const store = new Store()
  const users = store.table('users')
  const [watch, waiting] = [users.watch(), users.watch('b')]
  const waits = waiting.next()
  users.set('a', '1')
  await store.close()
  assert.deepEqual(await waits, { value: undefined, done: true })
  assert.deepEqual(await watch.next(), { value: put('users', 'a', '1'), done: false })
  assert.deepEqual(await watch.next(), { value: undefined, done: true })
  assert.throws(() => users.watch(), code('CLOSED'))
})

test('a watch that always has a next change lets the event loop run', async () => {
  const numbers = new Store().table('numbers', { keys: 'int', values: 'int' })
  const watch = numbers.watch()
  for (let key = 0; key < 3000; key++) numbers.set(key, key)
  let turns = 0
  const count = () => {
    turns++
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  for (let left = 3000; left > 0; left--) assert.equal((await watch.next()).value.key, 3000 - left)
  clearImmediate(timer)
  assert.ok(turns >= 2, `${turns}`)
})

test('another thread wakes a watch', async () => {
  const store = new Store({ shared: 'watched' })
  const numbers = store.table('numbers', { keys: 'int', values: 'int' })
  const watch = numbers.watch()
  const worker = thread('watched')
  const seen = []
  for await (const { key } of watch) if (seen.push(key) === 200) break
  assert.deepEqual(
    seen,
    Array.from({ length: 200 }, (_, key) => key),
  )
  await worker.terminate()
})

test('a process ends while a watch that does not keep it waits, and as its store is closed', async () => {
  const program = (options) => `
    import { Store } from 'twindex'
    const store = new Store()
    const watch = store.table('users').watch('', ${options})
    setTimeout(() => store.table('users').set('a', '1'), 5).unref()
    setTimeout(() => store.closeSync(), 10).unref()
    for await (const change of watch) console.log(change.key)
    console.log('end')`
  const run = promisify(execFile)
  const output = async (options) => {
    const input = ['--input-type=module', '-e', program(options)]
    return run(process.execPath, input, { cwd: here('..'), timeout: 60_000 }).then(
      ({ stdout }) => stdout,
      ({ stdout, code }) => `${stdout}${code}`,
    )
  }
  assert.equal(await output('{}'), 'a\nend\n')
  // Node ends a module that awaits what nothing can bring about any more.
  assert.equal(await output('{ ref: false }'), '13')
})

test('a watch cannot be sent to another thread', () => {
  assert.throws(() => structuredClone(new Store().table('t').watch()), { name: 'DataCloneError' })
})
