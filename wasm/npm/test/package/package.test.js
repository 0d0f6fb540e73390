// The package as it is published: packed, installed in an empty folder, and used there.
import assert from 'node:assert/strict'
import { execFileSync, execSync, spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { build as esbuild, transformSync } from 'esbuild'
import { rollup } from 'rollup'
import { createServer, preview, build as vite } from 'vite'
import webpack from 'webpack'
import { start, within } from '../browser/chromium.js'
import { find } from '../runtimes/find.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { context } = await start(after)
const folder = mkdtempSync(join(tmpdir(), 'twindex-wasm-'))
after(() => rmSync(folder, { recursive: true }))

const npm = (cwd, ...args) =>
  execFileSync('npm', args, {
    cwd,
    encoding: 'utf8',
    shell: process.platform === 'win32',
    stdio: ['ignore', 'pipe', 'pipe'],
  })

const [packed] = JSON.parse(npm(root, 'pack', '--json', '--pack-destination', folder))
write('package.json', '{ "private": true, "type": "module" }\n')
npm(folder, 'install', '--offline', packed.filename)
const installed = join(folder, 'node_modules/twindex-wasm')

function write(name, text) {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

/** The blocks of a page in this language, from a heading on. */
function blocks(path, heading = '', language = 'js') {
  const text = readFileSync(new URL(path, import.meta.url), 'utf8')
  const block = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g')
  return [...text.slice(text.indexOf(heading)).matchAll(block)].map(([, program]) => program)
}

const firstProgram = (path, heading) => blocks(path, heading)[0]

const README = firstProgram('../../../../README.md', '### WebAssembly')
const SHOWN = ['1815 1', '2026-11-01 a', '2026-11-02 b']

test('it has all that it needs and nothing else', () => {
  const others = packed.files.map(({ path }) => path).filter((path) => !path.startsWith('src/'))
  assert.deepEqual(others.sort(), [
    'LICENSE-APACHE',
    'LICENSE-MIT',
    'README.md',
    'browser.d.ts',
    'browser.js',
    'caches.js',
    'fast.js',
    'index.d.ts',
    'index.js',
    'package.json',
    'twindex.caches.wasm',
    'twindex.fast.wasm',
    'twindex.files.wasm',
    'twindex.wasm',
    'wasm.d.ts',
  ])
})

test('the module with caches is no more than 140 KiB to download', () => {
  const size = gzipSync(readFileSync(join(installed, 'twindex.caches.wasm')), { level: 9 }).length
  assert.ok(size <= 140 * 1024, `${size} bytes`)
})

// A runtime that is not here has a step of its own that says so.
const RUNTIMES = [
  ['Node', process.execPath, []],
  ['Deno', find('deno'), ['run', '--allow-read', '--no-prompt']],
  ['Bun', find('bun'), []],
].filter(([, program]) => program !== undefined)

for (const [name, program, args] of RUNTIMES) {
  const run = (path) => {
    const { stdout, stderr, status } = spawnSync(program, [...args, path], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
    })
    assert.equal(status, 0, stderr)
    return stdout
  }
  const lines = (path) => run(path).trimEnd().split('\n')

  test(`${name} runs the lines of both READMEs`, () => {
    assert.deepEqual(lines(write('readme.js', README)), SHOWN)
    const [tables, caches, ...others] = blocks('../../README.md')
    assert.deepEqual(lines(write('caches.js', `${caches}console.log(page.title)`)), ['News'])
    const [transaction, watch] = others
    const program = `${tables}${transaction}
      setTimeout(() => users.set('ab', '1')) // while it waits
      const { log: print } = console
      console.log = (...words) => [print(...words), watch.close()]
      ${watch}print(store.table('accounts').get('bob'), sessions.get('4f1a').user)`
    // Not every runtime knows `using`.
    const { code } = transformSync(program, { target: 'es2022' })
    assert.deepEqual(lines(write('own.js', code)), [...SHOWN.slice(1), 'put ab 1', '30 ada'])
  })

  test(`${name} takes the fast module, and either by name`, () => {
    const program = `
      const entries = ['', '/caches', '/fast', '/twindex.wasm', '/twindex.caches.wasm', '/twindex.fast.wasm']
      for (const entry of entries) console.log(import.meta.resolve('twindex-wasm' + entry).split('/').at(-1))`
    assert.deepEqual(lines(write('entries.js', program)), [
      'fast.js',
      'fast.js',
      'fast.js',
      'twindex.wasm',
      'twindex.caches.wasm',
      'twindex.fast.wasm',
    ])
  })

  test(`${name} says where there is no place for a file of the browser's`, () => {
    const program = `
      import { open } from 'twindex-wasm/browser'
      await open('app').catch(({ code, message }) => console.log(code, message))`
    assert.match(run(write('browser.js', program)), /^TWINDEX_IO .*'opfs or indexeddb' here/)
  })
}

// On the older date there is neither `FinalizationRegistry` nor `WeakRef`.
for (const date of ['2023-01-01', '2025-09-01']) {
  const workerd = find('workerd')
  if (workerd === undefined) break
  test(`the page on edge runtimes runs in workerd as of ${date}, and caches do`, async () => {
    write('page.js', firstProgram('../../../../docs/workers.md', ''))
    const worker = write(
      'workerd.js',
      `import wasm from 'twindex-wasm/twindex.caches.wasm'
      import { load } from 'twindex-wasm/caches'
      import worker from './page.js'
      const { Cache, Store } = await load(wasm)
      export default {
        async test() {
          for (const hits of [1, 2]) {
            const { page, ...rest } = await worker.fetch(new Request('http://localhost/home')).json()
            if (page !== '/home' || rest.hits !== hits) throw new Error(JSON.stringify({ page, ...rest }))
          }
          const cache = new Cache({ capacity: 1 << 20, ttl: 60_000, values: 'json' })
          const computed = await cache.getOrCompute('k', async () => ({ n: 1 }))
          if (computed.n !== 1 || cache.get('k').n !== 1 || !(cache.ttl('k') > 0)) throw new Error('no cache')
          const log = new Store().table('log', { index: 'sorted' })
          log.insertMany([['b', '2'], ['a', '1']])
          const pairs = [...Store.loadSync(log.store.dumpSync()).table('log', { index: 'sorted' })]
          if (JSON.stringify(pairs) !== '[["a","1"],["b","2"]]') throw new Error(JSON.stringify(pairs))
        },
      }`,
    )
    await workerdTest(workerd, worker, date, { modules: ['twindex.wasm', 'twindex.caches.wasm'] })
  })
}

/** Runs the `test` of a worker. */
async function workerdTest(workerd, worker, date, { modules, more = '' }) {
  const disk = mkdtempSync(join(folder, 'disk-'))
  const outfile = join(folder, 'bundle.js')
  await esbuild({
    entryPoints: [worker],
    outfile,
    bundle: true,
    format: 'esm',
    external: ['*.wasm', 'cloudflare:*'],
    conditions: ['browser'],
  })
  const embedded = modules.map((name) => {
    copyFileSync(join(installed, name), join(folder, name))
    return `(name = "twindex-wasm/${name}", wasm = embed "${name}")`
  })
  const config = write(
    'workerd.capnp',
    `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (services = [(name = "main", worker = (
      modules = [(name = "main", esModule = embed "bundle.js"), ${embedded}],
      compatibilityDate = "${date}", ${more}
    )), (name = "disk", disk = (path = "${disk}", writable = true))]);`,
  )
  const { stdout, stderr, status } = spawnSync(workerd, ['test', config], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
  })
  assert.equal(status, 0, `${stdout}${stderr}`)
}

test('the page on edge runtimes runs in workerd alone, by its commands and its configuration', async () => {
  const workerd = find('workerd')
  if (workerd === undefined) return // a step of its own says so
  const page = '../../../../docs/workers.md'
  write('worker.js', firstProgram(page))
  write('workerd.capnp', blocks(page, '', 'capnp')[0])
  const commands = blocks(page, '', 'sh')[0].trimEnd().split('\n')
  const serve = commands.pop().split(' ').slice(2)
  const bin = join(root, 'node_modules/.bin/')
  execSync(commands.join(' && ').replace('npx ', bin), { cwd: folder, stdio: 'pipe', timeout: 60_000 })
  const own = ['--socket-addr=http=127.0.0.1:0', '--control-fd=3']
  const server = spawn(workerd, [...serve, ...own], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  })
  try {
    const told = new Promise((resolve, reject) => {
      server.stdio[3].once('data', resolve)
      server.once('exit', (code) => reject(new Error(`workerd ended with ${code}`)))
    })
    const { port } = JSON.parse(await within('the port of workerd', told))
    for (const hits of [1, 2]) {
      const response = await within('an answer of workerd', fetch(`http://127.0.0.1:${port}/home`))
      assert.deepEqual(await response.json(), { page: '/home', hits })
    }
  } finally {
    server.kill()
  }
})

test('the recipe of a Durable Object keeps a table in workerd', async () => {
  const workerd = find('workerd')
  if (workerd === undefined) return // a step of its own says so
  write('board.js', firstProgram('../../../../docs/workers.md', '## A Durable Object'))
  const worker = write(
    'object.js',
    `import { Board as Recipe } from './board.js'
    export class Board extends Recipe {
      forget() {
        this.ctx.abort()
      }
    }
    export default {
      async test(_controller, { BOARDS }) {
        const board = BOARDS.get(BOARDS.idFromName('a'))
        for (const [name, score] of [['b', 2], ['a', 1], ['b', 3]]) await board.set(name, score)
        await board.forget().catch(() => {}) // the next call makes a new object, of what the storage has
        const top = await BOARDS.get(BOARDS.idFromName('a')).from('a')
        if (JSON.stringify(top) !== '[["a",1],["b",3]]') throw new Error(JSON.stringify(top))
      },
    }`,
  )
  await workerdTest(workerd, worker, '2025-09-01', {
    modules: ['twindex.wasm'],
    more: `durableObjectNamespaces = [(className = "Board", uniqueKey = "board")], durableObjectStorage = (localDisk = "disk"),
      bindings = [(name = "BOARDS", durableObjectNamespace = "Board")],`,
  })
})

test('the recipe of R2 saves a store, and begins again where another was faster', async () => {
  const recipe = firstProgram('../../../../docs/workers.md', '## R2').replaceAll(/^import wasm.*$/gm, '')
  const program = write(
    'r2.js',
    `${recipe.replace('load(wasm)', 'load()')}
    let [file, etag] = [undefined, 0]
    let faster = true
    const bucket = {
      get: async () => file && { etag: String(etag), arrayBuffer: async () => file.slice().buffer },
      async put(_name, bytes, { onlyIf }) {
        if (faster) [faster, file, etag] = [false, bytes, 1]
        else if (onlyIf.etagMatches !== undefined && onlyIf.etagMatches !== String(etag)) return null
        else if (onlyIf.etagDoesNotMatch === '*' && file !== undefined) return null
        else [file, etag] = [bytes, etag + 1]
        if (etag === 1) return null
        return {}
      },
    }
    for (let times = 0; times < 2; times++) console.log(await change(bucket, (store) => store.table('n').increment('a')))`,
  )
  assert.equal(execFileSync(process.execPath, [program], { cwd: folder, encoding: 'utf8' }), '2\n3\n')
})

const TYPED = `
  import { load, type Store as AnyStore, type Table, TwindexError } from 'twindex-wasm'
  import { load as loadFast } from 'twindex-wasm/fast'
  import { open } from 'twindex-wasm/browser'

  const { Store } = await load()
  const store: AnyStore = new Store()
  const users: Table = store.table('users')
  const value: string | undefined = users.select('ada')
  // @ts-expect-error
  users.insert(1, 2)
  // @ts-expect-error
  store.table('log', { index: 'both' })
  await loadFast(new Uint8Array(8))
  await (await open('app', { durability: 'always' })).close()
  export default [value, TwindexError.prototype.code]`

const TYPED_WEB = `
  await load(new URL('https://example.org/twindex.wasm'))
  await load(fetch('twindex.wasm'))
  await load(await WebAssembly.compile(new Uint8Array(8)))`

for (const [module, resolution] of [
  ['node16', 'node16'],
  ['esnext', 'bundler'],
]) {
  for (const [host, lib, types, program] of [
    ['a page', 'es2022,dom', '', TYPED + TYPED_WEB],
    ['Node', 'es2022', 'node', TYPED],
    ['neither', 'es2022', '', TYPED],
  ]) {
    test(`its typings hold with ${resolution} resolution in a program for ${host}`, () => {
      const path = write('typed.ts', program)
      const tsc = join(root, 'node_modules/typescript/bin/tsc')
      const options = { strict: true, noEmit: true, target: 'es2022', lib, types, module }
      const args = Object.entries({ ...options, moduleResolution: resolution }).flatMap(([name, value]) => [
        `--${name}`,
        `${value}`,
      ])
      const typeRoots = ['--typeRoots', join(root, 'node_modules/@types')]
      const { stdout, status } = spawnSync(process.execPath, [tsc, ...args, ...typeRoots, path], {
        cwd: folder,
        encoding: 'utf8',
      })
      assert.equal(status, 0, stdout)
    })
  }
}

test('a page loads at most 80 kB by Brotli, 90 by gzip: the small module and what a bundler makes of the JavaScript', async () => {
  const { outputFiles, metafile, warnings } = await esbuild({
    entryPoints: [join(installed, 'index.js')],
    bundle: true,
    minify: true,
    metafile: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    absWorkingDir: folder,
    outdir: 'bundled',
    write: false,
  })
  assert.deepEqual(warnings, [])
  const atOnce = new Set()
  const add = (path) => {
    if (atOnce.has(path)) return
    atOnce.add(path)
    for (const { path: next, kind } of metafile.outputs[path].imports) {
      if (kind === 'import-statement') add(next)
    }
  }
  add('bundled/index.js')
  // What `check` and `recover` need comes when they are called.
  assert.ok(atOnce.size < outputFiles.length)
  const loaded = outputFiles.filter(({ path }) => [...atOnce].some((name) => path === join(folder, name)))
  const all = [readFileSync(join(installed, 'twindex.wasm')), ...loaded.map(({ contents }) => contents)]
  for (const [compress, most] of [
    [brotliCompressSync, 80_000],
    [(bytes) => gzipSync(bytes, { level: 9 }), 90_000],
  ]) {
    const sizes = all.map((bytes) => compress(bytes).length)
    assert.ok(sizes.length > 1 && sizes.reduce((sum, size) => sum + size) <= most, `${sizes} bytes`)
  }
})

/** An app of the README's lines, and of a worker that keeps a store. */
function writeApp() {
  mkdirSync(join(folder, 'app'))
  write('app/index.html', '<!doctype html><title>App</title><script type="module" src="./app.js"></script>\n')
  write(
    'app/app.js',
    `${README}
    const start = () => {
      const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })
      worker.onmessage = ({ data }) => console.log(data)
    }
    if (location.hash === '') addEventListener('hashchange', start)
    else start()`,
  )
  write(
    'app/worker.js',
    `import { open } from 'twindex-wasm/browser'
    open('app').then(
      async (store) => {
        store.table('visits').increment('count')
        await store.close()
        postMessage(\`worker: kept in \${store.storage}\`)
      },
      (error) => postMessage(\`worker: \${error.message}\`),
    )`,
  )
  return join(folder, 'app')
}

const app = writeApp()

/** What only `check` and `recover` need. */
const ON_DEMAND = 'this module has no files'

/** Fails where a page has loaded what it does not use. */
async function checkLoaded(page) {
  const loaded = await page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name))
  for (const url of loaded.filter((name) => /\.m?js$/.test(name))) {
    assert.ok(!(await (await fetch(url)).text()).includes(ON_DEMAND), `${url} has what is loaded on demand`)
  }
  assert.equal(loaded.filter((name) => name.endsWith('.wasm')).length, 1, `${loaded}`)
}

/** What a page logs until its worker has answered; a server of sources may load it a second time, once it knows what the page imports. */
async function logged(address, isBuilt) {
  const page = await context.newPage()
  page.setDefaultTimeout(120_000)
  const lines = []
  page.on('console', (message) => message.type() === 'log' && lines.push(message.text()))
  page.on('pageerror', (error) => lines.push(error.message))
  const failed = page.waitForEvent('pageerror')
  const shown = page.waitForEvent('console', (message) => message.text() === SHOWN.at(-1))
  const answered = page.waitForEvent('console', (message) => message.text().startsWith('worker: '))
  try {
    await page.goto(isBuilt ? address : `${address}#worker`)
    if (isBuilt) {
      await Promise.race([failed, shown])
      await checkLoaded(page)
      await page.evaluate(() => {
        location.hash = 'worker'
      })
    }
    await Promise.race([failed, answered])
  } finally {
    // Closing the page ends the wait for the others.
    await Promise.all([page.close(), Promise.allSettled([failed, shown, answered])])
  }
  return [...new Set(lines)]
}

/** What the app logs that a server of Vite's has. */
async function served(server, isBuilt = true) {
  try {
    return await logged(server.resolvedUrls.local[0], isBuilt)
  } finally {
    // A server that is left open would keep this process alive for ever.
    await server.close()
  }
}

const EXPECTED = [...SHOWN, 'worker: kept in opfs']

test('an app that Vite builds, and one that it serves as it is, run in a browser', async () => {
  const options = { root: app, logLevel: 'error' }
  await vite(options)
  assert.deepEqual(await served(await preview(options)), EXPECTED)
  const server = await createServer(options)
  assert.deepEqual(await served(await server.listen(), false), EXPECTED)
})

/** Each builds the app into a folder: whether the modules are to be copied there too. */
const BUNDLERS = {
  async esbuild(input, outdir) {
    const options = { bundle: true, format: 'esm', splitting: true }
    const { warnings } = await esbuild({
      entryPoints: [input('app.js'), input('worker.js')],
      outdir,
      ...options,
    })
    assert.deepEqual(warnings, [])
    return true
  },
  async Rollup(input, dir) {
    const onLog = (_level, log) => assert.fail(log.message)
    const plugins = [nodeResolve({ browser: true })]
    const built = await rollup({ input: [input('app.js'), input('worker.js')], plugins, onLog })
    await built.write({ dir, format: 'es' })
    await built.close()
    return true
  },
  async webpack(input, path) {
    const options = { mode: 'production', entry: { app: input('app.js') }, output: { path, publicPath: '/' } }
    const compiler = webpack({ ...options, optimization: { minimize: false } })
    const stats = await promisify(compiler.run.bind(compiler))()
    assert.deepEqual(stats.toJson({ all: false, errors: true, warnings: true }).errors, [])
    await promisify(compiler.close.bind(compiler))()
    return false
  },
}

for (const [name, build] of Object.entries(BUNDLERS)) {
  test(`an app that ${name} builds runs in a browser`, async () => {
    const folder = join(app, name)
    const hasToCopy = await build((file) => join(app, file), folder)
    copyFileSync(join(app, 'index.html'), join(folder, 'index.html'))
    if (hasToCopy) {
      for (const module of ['twindex.wasm', 'twindex.files.wasm'])
        copyFileSync(join(installed, module), join(folder, module))
    }
    const server = await preview({ root: app, logLevel: 'error', build: { outDir: name } })
    assert.deepEqual(await served(server), EXPECTED)
  })
}
