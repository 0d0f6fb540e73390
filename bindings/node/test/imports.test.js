// Both kinds of import have the same classes.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import * as imported from 'twindex'

const require = createRequire(import.meta.url)

test('import and require give the same classes', () => {
  const required = require('twindex')
  assert.deepEqual(Object.keys(required).sort(), Object.keys(imported).sort())
  assert.deepEqual(new Map(Object.entries(required)), new Map(Object.entries(imported)))
  const store = new required.Store({ shared: 'both' })
  store.table('t').set('a', 'b')
  assert.equal(new imported.Store({ shared: 'both' }).table('t').get('a'), 'b')
})

test('the insides are not to be imported', () => {
  assert.throws(() => require('twindex/lib/native.js'), { code: 'ERR_PACKAGE_PATH_NOT_EXPORTED' })
  assert.equal(require('twindex/package.json').name, 'twindex')
})
