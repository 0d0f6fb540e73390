// The programs of docs/browser.md, one after the other, each in a worker of its own.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { transform } from 'esbuild'
import { start, within } from './chromium.js'

const { context, address } = await start(after)

function programs(path) {
  const text = readFileSync(new URL(path, import.meta.url), 'utf8')
  return [...text.matchAll(/```js\n([\s\S]*?)```/g)].map(([, program]) => program)
}

/** What a worker with this program posts. */
async function run(program) {
  const source = `addEventListener('unhandledrejection', ({ reason }) => postMessage(String(reason)))\n${program}`
  // Not every Chromium knows `using`.
  const { code } = await transform(
    source.replaceAll(`'twindex-wasm/browser'`, `'${address}twindex-wasm/browser.js'`),
    {
      target: 'es2022',
    },
  )
  const page = await within('a page', context.newPage())
  await page.goto(`${address}page.css`)
  const posted = page.evaluate(
    (text) =>
      new Promise((resolve, reject) => {
        const address = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
        const worker = new Worker(address, { type: 'module' })
        worker.onmessage = ({ data }) => resolve(data)
        worker.onerror = ({ message }) => reject(new Error(message))
      }),
    code,
  )
  return await within(`an answer of ${program}`, posted).finally(() => page.close())
}

test('the programs of the page on browsers run as they are written', async () => {
  const [open, copy, connect, snapshot, ...others] = programs('../../../../docs/browser.md')
  assert.deepEqual(others, [])
  assert.ok(programs('../../README.md').includes(open))
  const users = `store.table('users')`
  assert.equal(await run(`${open}postMessage(${users}.get('ada'))\nawait store.close()`), '1815')
  const chosen = 'const input = { get files() { return [file] } }'
  const list = `import { list } from 'twindex-wasm/browser'`
  assert.deepEqual(await run(`${chosen}\n${list}\n${copy}postMessage(await list())`), ['app', 'app-2'])
  const sum = `(await store.table('accounts', { values: 'int' })).get('bob')`
  assert.deepEqual(await run(`${connect}postMessage([users.get('bob'), ${sum}])`), ['1905', 30])
  assert.equal(await run(`${open}${snapshot}postMessage(total)`), 60)
})
