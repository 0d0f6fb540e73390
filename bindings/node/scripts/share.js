// Copies what both npm packages share to where this one has it: `npm run share`. The package is whole then.
import { cpSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('../../js', import.meta.url))
const target = fileURLToPath(new URL('../lib/shared', import.meta.url))

/** Not in a package that was published, which has its copy. */
export function share() {
  if (!existsSync(join(source, 'codecs.js'))) return
  rmSync(target, { recursive: true, force: true })
  cpSync(source, target, { recursive: true })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) share()
