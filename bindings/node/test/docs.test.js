// Every example of the guide and of the page on expiry, run as it stands in a project that has the package. What a comment behind `console.log` says is
// what it prints.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { folder, here } from './helpers.js'

const root = here('..')
const guide = join(root, '../../docs/node')
mkdirSync(join(folder, 'node_modules'))
symlinkSync(root, join(folder, 'node_modules/twindex'), 'junction')
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

const pages = [...readdirSync(guide).map((page) => join(guide, page)), join(guide, '../expiring.md')]
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
