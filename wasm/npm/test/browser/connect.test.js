// Tabs and workers that all read and write a store, in a browser.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { kill, start } from './chromium.js'
import { openWorker } from './store.js'

const { context, address } = await start(after)

/** Waits until something is so. */
async function until(what, isSo) {
  for (let times = 0; times < 1200; times++) {
    if (await isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`waited a minute until ${what}`)
}

async function join(name, options) {
  const tab = await openWorker(context, address)
  await tab.call('connect', name, options)
  return tab
}

for (const storage of ['opfs', 'indexeddb']) {
  test(`holders are killed under the writes of others, and nothing acknowledged is lost or done twice (${storage})`, async () => {
    const name = `killed ${storage}`
    const holders = []
    for (let at = 0; at < 4; at++) holders.push(await join(name, { storage }))
    const writers = [await join(name, { storage }), await join(name, { storage })]
    for (const [at, { call }] of writers.entries()) await call('begin', at)
    const count = () => Promise.all(writers.map(({ call }) => call('acknowledged')))
    for (const [at, { page, call }] of holders.entries()) {
      await until('it holds', async () => (await call('isHolder')) === true)
      const before = await count()
      await until('both have written since', async () =>
        (await count()).every((number, writer) => number > before[writer] + 20),
      )
      // A tab that crashes, one that is closed, and a worker that ends in the middle of a write.
      if (at % 3 === 0) await kill(context, page)
      if (at % 3 === 1) await page.evaluate(() => globalThis.worker.terminate())
      await page.close()
    }
    await until('a writer holds', async () =>
      (await Promise.all(writers.map(({ call }) => call('isHolder')))).some((is) => is),
    )
    const done = []
    for (const { call } of writers) done.push(await call('end'))
    const last = await join(name, { storage })
    for (const { call } of [...writers, last]) {
      await until('all is there', async () => (await call('shown')).join() === done.join())
    }
    await Promise.all([...writers, last].map(({ page }) => page.close()))
    const { call, page } = await openWorker(context, address)
    await call('open', name, { storage, wait: true })
    for (const [at, number] of done.entries()) assert.equal(await call('get', `count ${at}`), `${number}`)
    await page.close()
  })
}

test('a window reads and writes what a worker keeps in its files', async () => {
  const { page, call } = await join('window')
  const window = await context.newPage()
  await window.goto(`${address}page.css`)
  const seen = await window.evaluate(async (from) => {
    const { connect } = await import(`${from}twindex-wasm/browser.js`)
    const store = await connect('window')
    const table = await store.table('t')
    const written = table.set('a', 'b')
    const shown = [store.storage, store.isHolder, table.get('a')]
    await written
    globalThis.store = store
    return shown
  }, address)
  assert.deepEqual(seen, ['opfs', false, 'b'])
  assert.equal(await call('get', 'a'), 'b')
  // A page that the user has left gives up its place, and takes it again.
  const turn = (type) =>
    window.evaluate(
      (name) => globalThis.dispatchEvent(new PageTransitionEvent(name, { persisted: true })),
      type,
    )
  await turn('pagehide')
  await call('put', 'a', 'c')
  await turn('pageshow')
  const get = () => window.evaluate(async () => (await globalThis.store.table('t')).get('a'))
  await until('it is back', async () => (await get()) === 'c')
  await Promise.all([page.close(), window.close()])
})

// Chromium counts what IndexedDB takes too late for a test: ../connect.test.js has that.
test('where the disk is full writes fail, nothing is lost, and writing resumes with room', async () => {
  const tabs = [await join('full'), await join('full')]
  await tabs[1].call('put', 'a', 'b')
  const session = await context.newCDPSession(tabs[0].page)
  const origin = address.slice(0, -1)
  await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1000 })
  try {
    const full = { code: 'TWINDEX_LOG_FAILED', message: /room|quota|space/i }
    for (const { call } of tabs) await assert.rejects(call('put', 'a', 'x'.repeat(1 << 20)), full)
  } finally {
    await session.send('Storage.overrideQuotaForOrigin', { origin })
  }
  for (const [at, { call }] of tabs.entries()) await call('put', `room ${at}`, 'c')
  for (const { call } of tabs) {
    const get = async () => [await call('get', 'room 1'), await call('get', 'a')].join()
    await until('both have it', async () => (await get()) === 'c,b')
  }
  await Promise.all(tabs.map(({ page }) => page.close()))
})

test('connect says that a store that was opened with open() does not answer', async () => {
  const { page, call } = await openWorker(context, address)
  await call('open', 'alone')
  const other = await openWorker(context, address)
  const refused = { code: 'TWINDEX_IN_USE', message: /'alone'.*connect\(\)/ }
  await assert.rejects(other.call('connect', 'alone', { timeout: 300 }), refused)
  await page.close()
  await other.call('connect', 'alone')
  await other.page.close()
})
