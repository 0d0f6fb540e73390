/**
 * The page in a real browser, light and dark: that of `TWINDEX_PAGE`, or else one with a sample of figures. With
 * `TWINDEX_SHOTS` it leaves pictures of it in that folder.
 */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import { compared } from '../sample.js'

const PROGRAM = process.env.TWINDEX_CHROMIUM ?? '/usr/bin/chromium'
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

let folder
let context

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'twindex-page-'))
  context = await chromium.launchPersistentContext(join(folder, 'profile'), {
    executablePath: PROGRAM,
    args: FLAGS,
    headless: true,
    timeout: 120_000,
    viewport: { width: 1400, height: 1000 },
  })
})

after(async () => {
  await context?.close()
  await rm(folder, { recursive: true, force: true })
})

/** The page of the sample, put together as the report does it. */
async function samplePage() {
  const read = name => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
  const data = JSON.stringify(compared).replaceAll('<', '\\u003c')
  const html = read('page.html')
    .replace('/* style */', () => read('page.css'))
    .replace('{/* data */}', () => data)
    .replace('/* script */', () => read('dist/page.js'))
  const path = join(folder, 'page.html')
  await writeFile(path, html)
  return path
}

/** Opens a page and keeps what it complains about, and what it asks for beside itself. */
async function open(path, colorScheme) {
  const page = await context.newPage()
  const complaints = []
  page.on('pageerror', error => complaints.push(error.message))
  page.on('console', message => message.type() === 'error' && complaints.push(message.text()))
  page.on('request', request => request.url().startsWith('file:') || complaints.push(request.url()))
  await page.emulateMedia({ colorScheme })
  await page.goto(pathToFileURL(path).href)
  await page.waitForFunction(() => [...document.querySelectorAll('canvas')].every(({ chart }) => chart))
  assert.deepEqual(complaints, [])
  return page
}

/** The charts in which some line or bar is not where its figures are, or has not its own colour there. */
function emptyCharts(page) {
  return page.evaluate(() => {
    function isDrawn(canvas) {
      const { chart } = canvas
      const context = canvas.getContext('2d')
      const { left, right, top, bottom } = chart.chartArea
      const pixel = (x, y) => {
        const ratio = chart.currentDevicePixelRatio
        const [red, green, blue, alpha] = context.getImageData(
          Math.round(x * ratio),
          Math.round(y * ratio),
          1,
          1,
        ).data
        // Text, grid and ground are grey or nearly so.
        return alpha === 0 ? 0 : Math.max(red, green, blue) - Math.min(red, green, blue)
      }
      const places = chart.data.datasets.map((_, position) =>
        chart
          .getDatasetMeta(position)
          .data.filter(({ skip, x, y }) => !skip && Number.isFinite(x) && Number.isFinite(y))
          .map(({ x, y, base }) => [x, base === undefined ? y : (y + base) / 2])
          .filter(([x, y]) => x >= left && x <= right && y >= top && y <= bottom),
      )
      return (
        places.length > 0 &&
        places.every(points => points.length > 0) &&
        places.flat().some(([x, y]) => pixel(x, y) > 24)
      )
    }
    return [...document.querySelectorAll('canvas')]
      .filter(canvas => !isDrawn(canvas))
      .map(canvas => canvas.getAttribute('aria-label'))
  })
}

for (const colorScheme of ['light', 'dark']) {
  test(`every chart of the ${colorScheme} page shows figures`, async () => {
    const page = await open(process.env.TWINDEX_PAGE ?? (await samplePage()), colorScheme)
    assert.ok((await page.locator('canvas').count()) > 0, 'the page has no chart')
    assert.deepEqual(await emptyCharts(page), [])
    const folder = process.env.TWINDEX_SHOTS
    if (folder !== undefined)
      await page.screenshot({ path: join(folder, `${colorScheme}.png`), fullPage: true })
    await page.close()
  })
}

test('a chart without figures is noticed', async () => {
  const page = await open(await samplePage(), 'light')
  await page.evaluate(() => {
    const { chart } = document.querySelector('canvas')
    for (const dataset of chart.data.datasets) dataset.data = []
    chart.update()
  })
  const [label, ...others] = await emptyCharts(page)
  assert.match(label, /Strings: insert/)
  assert.deepEqual(others, [])
  await page.close()
})

test('the page follows the ground that the reader wants', async () => {
  const path = await samplePage()
  const ground = async colorScheme => {
    const page = await open(path, colorScheme)
    const colour = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    await page.close()
    return colour
  }
  assert.notEqual(await ground('light'), await ground('dark'))
})

test('the page has its tables, its sections and the comparison', async () => {
  const page = await open(await samplePage(), 'light')
  assert.equal(await page.locator('#contents li').count(), 4)
  assert.equal(await page.locator('#strings tbody tr').count(), 4)
  assert.match(await page.locator('#strings').innerText(), /Published beside that/)
  assert.equal(await page.locator('#cache_hits table').count(), 2)
  assert.match(await page.locator('#comparison').innerText(), /faster/)
  assert.match(await page.locator('#remarks').innerText(), /Redis server/)
  await page.close()
})
