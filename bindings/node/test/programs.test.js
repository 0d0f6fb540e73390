// The examples, those of the guide, the bench and the tool `npx twindex`, run as a user runs them.
import assert from 'node:assert/strict'
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { openSync } from 'twindex'
import { folder, here, start, until } from './helpers.js'

const root = here('..')

const node = (...args) => promisify(execFile)(process.execPath, args, { cwd: folder })

const write = (name, text) => writeFileSync(join(folder, name), text)

// The examples as they are in a project that has the package.
cpSync(join(root, '../../examples/node'), folder, {
  recursive: true,
  filter: (path) => !path.endsWith('node_modules'),
})
mkdirSync(join(folder, 'node_modules'))
symlinkSync(root, join(folder, 'node_modules/twindex'), 'junction')

test('tour.js prints what the program prints in every language', async () => {
  const { stdout } = await node('tour.js', 'tour.twx')
  assert.equal(stdout, readFileSync(join(root, '../../examples/tour.txt'), 'utf8'))
})

test('read.js, which the first page shows, reads what another program wrote', async () => {
  const program = readFileSync(join(folder, 'read.js'), 'utf8')
  assert.ok(readFileSync(join(root, '../../README.md'), 'utf8').includes(program))
  const store = openSync(join(folder, 'events.twx'))
  store.table('events', { index: 'sorted', values: 'int' }).set('2026-11-26 00000000', 7)
  await store.close()
  const { stdout } = await node('read.js')
  assert.equal(stdout, "1 pairs, the last one is [ '2026-11-26 00000000', 7 ]\n")
})

test('leaderboard.js keeps the ranking', async () => {
  const { stdout } = await node('leaderboard.js', '1000')
  assert.match(stdout, /1 +│ +'edsger' +│ 1430 /)
  assert.match(stdout, /2 +│ +'katherine' +│ 1430 /)
  assert.match(stdout, /3 +│ +'barbara' +│ 1423 /)
  assert.match(stdout, /just ahead of ada: barbara, katherine/)
})

test('job-queue.js does every job, and what was left of an earlier run', async () => {
  const files = Array.from({ length: 20 }, (_, at) => `job-${String(at).padStart(2, '0')}.txt`)
  for (const [at, file] of files.entries()) write(file, 'line\n'.repeat(at))
  const all = files.map((file, at) => `${at} ${file}\n`).join('')
  assert.equal((await node('job-queue.js', 'queue.twx', '3', ...files)).stdout, all)
  const store = openSync(join(folder, 'queue.twx'))
  store.table('begun', { index: 'sorted', keys: 'tuple' }).set([1, 1], 'one more.txt')
  await store.close()
  write('one more.txt', '\n')
  assert.equal((await node('job-queue.js', 'queue.twx', '2')).stdout, `${all}1 one more.txt\n`)
})

test('cluster-readers.js has one writer and many readers', async () => {
  const primary = start(['cluster-readers.js', 'visits.twx', '3', '0'], { cwd: folder })
  const [line] = await once(createInterface(primary.stdout), 'line')
  const url = line.slice('listening on '.length)
  const ask = async (page, options) => {
    const response = await fetch(`${url}${page}`, { ...options, headers: { connection: 'close' } })
    return { worker: response.headers.get('x-worker'), visits: Number(await response.text()) }
  }
  const seen = new Set()
  let made = 0
  await until('three workers have counted visits', async () => {
    const { worker, visits } = await ask('/a', { method: 'POST' })
    assert.equal(visits, ++made)
    return seen.add(worker).size === 3
  })
  // All of them see it, also who takes the place of one that was killed.
  process.kill(Number([...seen][0]), 'SIGKILL')
  const last = new Set()
  await until('three others have seen all', async () => {
    // A connection that the primary had just passed to the one that was killed is never answered.
    const { worker, visits } = await ask('/a', { signal: AbortSignal.timeout(1000) }).catch(() => ({}))
    if (visits === made && worker !== [...seen][0]) last.add(worker)
    return last.size === 3
  })
  primary.kill('SIGKILL')
  await once(primary, 'exit')
})

test('replica.js copies a store and stays in step, whenever it is killed', async () => {
  const source = openSync(join(folder, 'source.twx'))
  const users = source.table('users', { values: 'json' })
  users.set('ada', { born: 1815 })
  const content = (store) =>
    store.tables().map(([name, index]) => {
      const table = store.table(name, { index, keys: 'bytes', values: 'bytes' })
      return [name, index, table.codecs, [...table].map(String).sort()]
    })
  const isSame = async () => {
    await node('replica.js', 'source.twx', 'copy.twx', '--once')
    const copy = openSync(join(folder, 'copy.twx'), { readOnly: true })
    assert.deepEqual(
      content(copy).filter(([name]) => name !== 'replica'),
      content(source),
    )
    copy.closeSync()
  }
  await isSame()
  const date = {
    name: 'date',
    encode: (day) => day.toJSON(),
    decode: (text) => new Date(text),
    format: 'str',
  }
  const days = source.table('days', { index: 'sorted', keys: date })
  days.set(new Date(0), 'first')
  users.set('bob', { born: 1900 })
  await isSame()
  const copier = start(['replica.js', 'source.twx', 'copy.twx'], { cwd: folder })
  const copy = openSync(join(folder, 'copy.twx'), { readOnly: true })
  users.set('round', 1)
  await until('it is copied', async () => {
    await copy.refresh()
    return copy.table('users').get('round') === 1
  })
  source.batch((batch) => {
    for (let at = 0; at < 1000; at++) batch.set(users, `user ${at}`, at)
  })
  copier.kill('SIGKILL')
  await once(copier, 'exit')
  copy.closeSync()
  await source.compact()
  source.dropTable('days')
  source.table('days', { index: 'sorted', keys: 'int' }).set(1, 'again')
  await isSame()
  await source.close()
})

test('the bench prints every figure as a line of JSON, on any number of threads', async () => {
  const figures = async (...args) => {
    const { stdout } = await node(join(root, 'bench.mjs'), '--pairs', '1200', ...args)
    const records = stdout.trim().split('\n').map(JSON.parse)
    for (const { value } of records) assert.ok(value >= 0)
    return records.map(({ figure }) => figure)
  }
  const hash = ['insert', 'select', 'select_many', 'replace', 'insert_many']
  assert.deepEqual(await figures('hash', '--system', 'Map'), ['bytes', ...hash])
  assert.deepEqual(await figures('hash', '--system', 'twindex', '--threads', '3'), hash)
  const sorted = await figures('sorted', '--system', 'twindex')
  for (const figure of ['bytes', 'scan', 'scan_many', 'range of 100']) assert.ok(sorted.includes(figure))
  assert.equal((await figures('cache', '--system', 'twindex')).length, 5)
})

test('the bench prints ratios over the keys of a file, and names what it does not know', async () => {
  write('keys.txt', `zoë\n\n${Array.from({ length: 50 }, (_, at) => `wörd ${at % 25}\n`).join('')}`)
  const bench = (...args) => node(join(root, 'bench.mjs'), ...args)
  const { stdout } = await bench('hash', '--keys', 'keys.txt', '--rounds', '1')
  assert.match(stdout, /select.*x\)/)
  for (const [args, message] of [
    [['hash', '--system', 'redis'], /redis/],
    [['hash', '--threads', '0'], /--threads takes a number from 1 on, not "0"/],
    [['hash', '--keys', 'none.txt', '--system', 'Map'], /none\.txt/],
  ]) {
    await assert.rejects(bench(...args), ({ code, stderr }) => code === 1 && message.test(stderr))
  }
})

const tool = here('../scripts/cli.js')
const runTool = (args, input) => spawnSync(process.execPath, [tool, ...args], { encoding: 'utf8', input })

test('the tool does its commands, and reads lines of a shell', async () => {
  const path = join(folder, 'größe.twx')
  const store = openSync(path)
  store.table('users').set('ada', '1815')
  await store.close()
  assert.match(runTool(['info', path]).stdout, /users/)
  assert.equal(runTool(['check', path]).status, 0)
  assert.equal(runTool(['get', path, 'users', 'ada']).stdout, '1815\n')
  const shell = runTool(['shell', '--write', path], 'delete users ada\n')
  assert.equal(shell.status, 0, shell.stderr)
  assert.equal(runTool(['get', path, 'users', 'ada']).status, 1)
})

test('the tool says by its exit code how it went', () => {
  assert.match(runTool(['--help']).stdout, /Usage: twindex/)
  assert.equal(runTool(['--version']).status, 0)
  const wrong = runTool(['explode'])
  assert.equal(wrong.status, 2)
  assert.match(wrong.stderr, /unrecognized subcommand 'explode'/)
  const missing = runTool(['info', join(folder, 'none.twx')])
  assert.equal(missing.status, 1)
  assert.match(missing.stderr, /none\.twx/)
  const damaged = join(folder, 'damaged.twx')
  writeFileSync(damaged, 'no store at all, but long enough to hold')
  assert.equal(runTool(['check', damaged]).status, 3)
})

const guide = join(root, '../../docs/node')
const PACKAGES = ['keyv', 'express', 'express-session', 'unstorage', '@nestjs', 'reflect-metadata', '@types']
for (const name of PACKAGES) {
  symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name), 'junction')
}

/** Stands for Electron, which needs a display. It quits once the program has run. */
const ELECTRON = `import { EventEmitter } from 'node:events'
export const ipcMain = { handle() {} }
export const app = new EventEmitter()
Object.assign(app, { getPath: () => '.', requestSingleInstanceLock: () => true })
process.once('beforeExit', () => app.emit('will-quit'))`
mkdirSync(join(folder, 'node_modules/electron'))
writeFileSync(join(folder, 'node_modules/electron/index.mjs'), ELECTRON)
writeFileSync(join(folder, 'node_modules/electron/package.json'), '{ "exports": "./index.mjs" }')

/** What Nest wants, whose decorators are those of before they were standardised. */
const TYPESCRIPT =
  '--strict --skipLibCheck --target es2022 --module nodenext --types node --experimentalDecorators --emitDecoratorMetadata'

/** The program as Node runs it. */
function compiled(name, language) {
  if (language === 'js') return name
  const tsc = join(root, 'node_modules/typescript/lib/tsc.js')
  execFileSync(process.execPath, [tsc, ...TYPESCRIPT.split(' '), name], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
  })
  return name.replace(/mts$/, 'mjs')
}

const shared = ['cache', 'codecs', 'expiring', 'files', 'follow', 'production', 'transactions']
const pages = [
  join(root, 'README.md'),
  ...readdirSync(guide).map((page) => join(guide, page)),
  ...shared.map((page) => join(guide, `../${page}.md`)),
]
for (const path of pages) {
  const page = basename(path)
  const examples = readFileSync(path, 'utf8').matchAll(/^```(js|ts)\n(.*?)^```/gms)
  let count = 0
  for (const [, language, source] of examples) {
    const number = ++count
    test(`${page}, example ${number}`, () => {
      const name = `${page}-${number}.m${language}`
      writeFileSync(join(folder, name), source)
      const program = compiled(name, language)
      const printed = execFileSync(process.execPath, [program], { cwd: folder, encoding: 'utf8' })
      for (const [, said] of source.matchAll(/console\.log\(.*\) \/\/ ([^:\n]*)/g)) {
        assert.ok(printed.includes(said), `${said} is not in ${printed}`)
      }
    })
  }
}
