// Copies what both npm packages share to where this one has it: `npm run share`. The package is whole then.

import { cpSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('../../../bindings/js', import.meta.url))
const target = fileURLToPath(new URL('../src/shared', import.meta.url))
rmSync(target, { recursive: true, force: true })
cpSync(source, target, { recursive: true })
