// abstract-level's public suite over `twindex/level`, in memory and in files.
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'tape'
import { TwindexLevel } from 'twindex/level'

const suite = createRequire(import.meta.url)('abstract-level/test')
const folder = mkdtempSync(join(tmpdir(), 'twindex-level-'))
test.onFinish(() => rmSync(folder, { recursive: true }))
let files = 0

suite({ test, factory: (options) => new TwindexLevel(options) })
suite({ test, factory: (options) => new TwindexLevel(join(folder, `${++files}.twx`), options) })
