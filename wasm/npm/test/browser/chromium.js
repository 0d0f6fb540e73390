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

/** A browser and a server until the tests of a file are over. */
export async function start(after) {
  const server = await serve(0)
  const browser = await chromium.launch({ executablePath: PROGRAM, args: ALONE, timeout: 120_000 })
  after(async () => {
    await browser.close()
    server.closeAllConnections()
    server.close()
  })
  const context = await browser.newContext()
  context.setDefaultTimeout(120_000)
  return { browser, context, address: `http://localhost:${server.address().port}/` }
}

/** Kills the process of a page, as the system does where memory ends. */
export async function kill(context, page) {
  const session = await context.newCDPSession(page)
  const crashed = page.waitForEvent('crash')
  session.send('Page.crash').catch(() => {})
  await crashed
}
