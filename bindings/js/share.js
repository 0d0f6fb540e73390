// Copies what all npm packages share into one of them, which is whole then: node ../js/share.js lib/shared
import { cpSync, rmSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('.', import.meta.url))
const OWN = ['package.json', 'share.js']

export function share(target) {
  rmSync(target, { recursive: true, force: true })
  cpSync(source, target, { recursive: true, filter: (path) => !OWN.includes(basename(path)) })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) share(resolve(process.argv[2]))
