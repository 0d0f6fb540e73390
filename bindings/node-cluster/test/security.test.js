// TLS, passwords and users, on a cluster and on one server.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { connect } from '../index.js'
import { secureServers } from './cluster.js'

const { urls, authority, end } = await secureServers()
after(end)

for (const [name, url] of Object.entries(urls)) {
  const options = { namespace: `node-tls-${process.pid}`, tlsAuthority: authority }

  test(`tables over TLS: ${name}`, async () => {
    const store = await connect(url, options)
    const users = await store.table('users')
    await users.upsertMany(Array.from({ length: 100 }, (_, number) => [String(number), '1']))
    assert.deepEqual([await users.count(), await users.increment('7', 2)], [100, 3])
    const log = await store.table('log', { index: 'sorted' })
    assert.ok(await log.insert('a', '1'))
    assert.deepEqual(await log.cursor().scanAscNext(), ['a', '1'])
    await store.close()
  })

  test(`who is not let in is told why: ${name}`, async () => {
    const unavailable = { code: 'TWINDEX_UNAVAILABLE', message: /certificate/ }
    await assert.rejects(connect(url), unavailable)
    const wrong = (what) => ({ code: 'TWINDEX_URL', message: what })
    await assert.rejects(connect(url, { tlsAuthority: 'what' }), wrong(/no certificate/))
    await assert.rejects(connect(url.replace('rediss', 'redis'), options), wrong(/only rediss:.. is TLS/))
    await assert.rejects(connect(url.replace('rediss', 'redis')), { code: 'TWINDEX_UNAVAILABLE' })
    const refused = (reason) => ({ code: 'TWINDEX_REFUSED', message: reason })
    await assert.rejects(connect(url.replace('secret', 'wrong'), options), refused(/WRONGPASS/))
    await assert.rejects(connect(url.replace('default:secret@', ''), options), refused(/NOAUTH/))
  })

  test(`a user without the right is told so: ${name}`, async () => {
    const users = await (await connect(url, options)).table('users')
    await users.upsert('ada', '1815')
    const store = await connect(url.replace('default', 'reader'), options)
    const theirs = await store.table('users')
    assert.equal(await theirs.select('ada'), '1815')
    await assert.rejects(theirs.upsert('ada', '1852'), { code: 'TWINDEX_REFUSED', message: /NOPERM.*'set'/ })
    assert.equal(await theirs.select('ada'), '1815')
  })
}
