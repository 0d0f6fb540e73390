// The Chromium of this machine, and pages of a server of our own in it.
import { chromium } from 'playwright-core'
import { serve } from '../../../../examples/browser/serve.mjs'

const PROGRAM = process.env.TWINDEX_CHROMIUM ?? '/usr/bin/chromium'
const ALONE = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** What a promise resolves to. An error that names it, by a text or a function, after two minutes or this time. */
export async function within(what, promise, time = 120_000) {
  let timer
  const late = new Promise((_, reject) => {
    const name = () => (typeof what === 'function' ? what() : what)
    timer = setTimeout(() => reject(new Error(`waited ${time / 1000} seconds for ${name()}`)), time)
  })
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** A browser and a server until the tests of a file are over. */
export async function start(after) {
  const server = await serve(0)
  const program = await chromium.launchServer({ executablePath: PROGRAM, args: ALONE, timeout: 120_000 })
  // A browser that is asked to close may wait for a page forever.
  after(async () => {
    await within('the end of Chromium', program.kill())
    server.closeAllConnections()
    server.close()
  })
  const browser = await chromium.connect(program.wsEndpoint(), { timeout: 120_000 })
  const context = await within('a context of Chromium', browser.newContext())
  context.setDefaultTimeout(120_000)
  return { browser, context, address: `http://localhost:${server.address().port}/` }
}

/** Kills the process of a page, as the system does where memory ends. */
export async function kill(context, page) {
  const session = await within('a session of Chromium', context.newCDPSession(page))
  const crashed = page.waitForEvent('crash')
  session.send('Page.crash').catch(() => {})
  await crashed
}
