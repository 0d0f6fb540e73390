// Keyv's public suite over `twindex/keyv`, in memory and in a file.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keyvIteratorTests, default as suite } from '@keyv/test-suite'
import Keyv from 'keyv'
import * as vitest from 'vitest'
import { KeyvTwindex } from '../../../keyv.js'

const folder = mkdtempSync(join(tmpdir(), 'twindex-keyv-'))
const adapters = []
const open = (options) => {
  const adapter = new KeyvTwindex(options)
  adapters.push(adapter)
  return adapter
}

vitest.afterAll(async () => {
  await Promise.all(adapters.map((adapter) => adapter.disconnect()))
  rmSync(folder, { recursive: true })
})

for (const [where, options] of Object.entries({
  memory: undefined,
  'a file': { path: join(folder, 'keyv.twx') },
})) {
  vitest.describe(where, () => {
    suite(vitest, Keyv, () => open(options))
    keyvIteratorTests(vitest, Keyv, () => open(options))
  })
}
