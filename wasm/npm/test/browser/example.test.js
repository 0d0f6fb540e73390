// examples/browser, by what a person sees.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { start } from './chromium.js'

const { context, address } = await start(after)

test('the page runs the tests, charts them and keeps the results', async () => {
  const page = await context.newPage()
  const problems = []
  page.on('pageerror', (error) => problems.push(error.message))
  await page.goto(address)
  const status = page.getByRole('status')
  await status.filter({ hasText: 'No runs yet' }).waitFor()
  await page.getByLabel('Pairs').fill('20000')
  await page.getByRole('button', { name: 'Run' }).click()
  await status.filter({ hasText: '1 run kept in a private file' }).waitFor()
  const cells = await page.locator('tbody tr').first().locator('td').allTextContents()
  assert.equal(cells[1].replace(/\D/g, ''), '20000')
  for (const speed of cells.slice(2)) assert.ok(Number(speed) > 0, `a speed of ${speed}`)
  const widths = await page
    .locator('meter')
    .evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width))
  assert.equal(widths.length, 4)
  for (const width of widths) assert.ok(width > 0)
  assert.equal(await page.locator('progress').evaluate((bar) => bar.value), 1)

  await page.reload()
  await status.filter({ hasText: '1 run kept in a private file' }).waitFor()
  assert.deepEqual(await page.locator('tbody tr').first().locator('td').allTextContents(), cells)

  const other = await context.newPage()
  await other.goto(address)
  await other.getByRole('status').filter({ hasText: 'another tab' }).waitFor()
  assert.ok(await other.getByRole('button', { name: 'Run' }).isDisabled())
  await page.close()
  await other.getByRole('status').filter({ hasText: '1 run kept in a private file' }).waitFor()
  assert.deepEqual(await other.locator('tbody tr').first().locator('td').allTextContents(), cells)

  await other.getByRole('button', { name: 'Forget' }).click()
  await other.getByRole('status').filter({ hasText: 'No runs yet' }).waitFor()
  assert.equal(await other.locator('tbody tr').count(), 0)
  assert.deepEqual(problems, [])
  await other.close()
})
