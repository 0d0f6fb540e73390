// What happens to a store's file in the background, as an event.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { after, test } from 'node:test'
import { openSync, Store } from 'twindex'
import { code, newPath } from './helpers.js'

// To listen keeps no process alive.
const alive = setInterval(() => {}, 1000)
after(() => clearInterval(alive))

const next = (store) => new Promise((resolve) => store.once('warning', resolve))

test('a file that is gone is told to its store, and to no other', async () => {
  const path = newPath()
  const others = openSync(newPath())
  others.on('warning', () => assert.fail('it is of another file'))
  const store = openSync(path)
  store.table('t').set('a', '1')
  const copy = openSync(path, { readOnly: true })
  copy.followSync()
  const told = []
  const keep = (warning) => told.push(warning)
  assert.equal(copy.on('warning', keep), copy)
  rmSync(path)
  const gone = await next(copy)
  assert.deepEqual({ ...gone, message: '' }, { event: 'follow_failed', level: 'warn', message: '', path })
  assert.ok(gone.message.startsWith(`${path}: it does not keep up`), gone.message)
  assert.deepEqual(told[0], gone)
  copy.off('warning', keep)
  copy.closeSync()
  assert.throws(() => copy.on('warning', keep), code('CLOSED'))
  // A writer finds out when it syncs. It goes on as soon as it is told.
  const failed = new Promise((resolve) => {
    store.on('warning', (warning) => warning.event === 'log_failed' && resolve(warning))
  })
  assert.throws(() => {
    for (;;) store.table('t').set('a', '2')
  }, code('LOG_FAILED'))
  const { level, message } = await failed
  assert.equal(level, 'error')
  assert.match(message, /the log failed/)
  others.closeSync()
  assert.throws(() => store.closeSync(), code('LOG_FAILED'))
  store.closeSync()
})

test('to listen keeps no process alive', () => {
  const source = `import { openSync } from 'twindex'
    openSync(process.argv[1]).on('warning', () => {})`
  const args = ['--input-type=module', '-e', source, newPath()]
  execFileSync(process.execPath, args, { cwd: new URL('..', import.meta.url), timeout: 60_000 })
})

test('wrong events and listeners', () => {
  const store = new Store()
  assert.throws(() => store.on('error', () => {}), { code: 'TWINDEX_RANGE', message: /'error'.*warning/ })
  assert.throws(() => store.on(1, () => {}), code('TYPE'))
  for (const listener of [undefined, null, 'f', {}])
    assert.throws(() => store.once('warning', listener), code('TYPE'))
  store.closeSync()
})
