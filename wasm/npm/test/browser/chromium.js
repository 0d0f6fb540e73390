// The Chromium of this machine, and pages of a server of our own in it.
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { serve } from '../../../../examples/browser/serve.mjs'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const path = process.env.CHROMIUM ?? PLACES.find(existsSync)
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
  if (path === undefined) throw new Error('Chromium is missing: apt-get install chromium, or set CHROMIUM')
  const server = await serve(0)
  const browser = await chromium.launch({ executablePath: path, args: ALONE, timeout: 120_000 })
  after(async () => {
    await browser.close()
    server.closeAllConnections()
    server.close()
  })
  const context = await browser.newContext()
  context.setDefaultTimeout(120_000)
  return { browser, context, address: `http://localhost:${server.address().port}/` }
}
