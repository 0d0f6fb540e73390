// `npx twindex`, as far as it is this package's: that the tool runs, and with which arguments and exit codes.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openSync } from 'twindex'
import { folder, here } from './helpers.js'

const path = join(folder, 'größe.twx')

const tool = here('../scripts/cli.js')
const run = (args, input) => spawnSync(process.execPath, [tool, ...args], { encoding: 'utf8', input })

test('the tool does its commands, and reads lines of a shell', async () => {
  const store = openSync(path)
  store.table('users').set('ada', '1815')
  await store.close()
  assert.match(run(['info', path]).stdout, /users/)
  assert.equal(run(['check', path]).status, 0)
  assert.equal(run(['get', path, 'users', 'ada']).stdout, '1815\n')
  const shell = run(['shell', '--write', path], 'delete users ada\n')
  assert.equal(shell.status, 0, shell.stderr)
  assert.equal(run(['get', path, 'users', 'ada']).status, 1)
})

test('the tool says by its exit code how it went', () => {
  assert.match(run(['--help']).stdout, /Usage: twindex/)
  assert.equal(run(['--version']).status, 0)
  const wrong = run(['explode'])
  assert.equal(wrong.status, 2)
  assert.match(wrong.stderr, /unrecognized subcommand 'explode'/)
  const missing = run(['info', join(folder, 'none.twx')])
  assert.equal(missing.status, 1)
  assert.match(missing.stderr, /none\.twx/)
  const damaged = join(folder, 'damaged.twx')
  writeFileSync(damaged, 'no store at all, but long enough to hold')
  assert.equal(run(['check', damaged]).status, 3)
})
