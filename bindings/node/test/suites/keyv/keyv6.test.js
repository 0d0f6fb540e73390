// Version 6 of Keyv, for which there is no public suite yet, over `twindex/keyv`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Keyv } from 'keyv-6'
import { afterAll, describe, expect, test } from 'vitest'
import { KeyvTwindex } from '../../../keyv.js'

const folder = mkdtempSync(join(tmpdir(), 'twindex-keyv-6-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

/** All pairs, by their keys. */
async function all(keyv) {
  const pairs = []
  for await (const pair of keyv.iterator()) pairs.push(pair)
  return pairs.sort(([a], [b]) => (a < b ? -1 : 1))
}

describe.each([
  ['memory', () => undefined],
  ['a file', () => ({ path: join(folder, `${++files}.twx`) })],
])('%s', (_, place) => {
  const open = (options) => {
    const store = new KeyvTwindex(place())
    const keyv = new Keyv({ store, throwOnErrors: true, ...options })
    return { store, keyv }
  }

  test('single pairs', async () => {
    const { keyv } = open()
    expect(await keyv.get('a')).toBe(undefined)
    for (const value of ['text', 1.5, null, true, { deep: [1, null] }, 'ä€𝒳']) {
      expect(await keyv.set('a', value)).toBe(true)
      expect(await keyv.get('a')).toEqual(value)
      expect(await keyv.has('a')).toBe(true)
    }
    expect([await keyv.delete('a'), await keyv.delete('a'), await keyv.has('a')]).toEqual([
      true,
      false,
      false,
    ])
    await keyv.disconnect()
  })

  test('many pairs', async () => {
    const { keyv } = open()
    const entries = Array.from({ length: 300 }, (_, at) => ({ key: `k${at}`, value: at }))
    expect(await keyv.setMany(entries)).toEqual(entries.map(() => true))
    expect(await keyv.getMany(['k0', 'none', 'k299'])).toEqual([0, undefined, 299])
    expect(await keyv.hasMany(['k0', 'none'])).toEqual([true, false])
    await keyv.deleteMany(['k0', 'k1'])
    expect(await keyv.getMany(['k0', 'k1', 'k2'])).toEqual([undefined, undefined, 2])
    expect((await all(keyv)).length).toBe(298)
    await keyv.clear()
    expect(await all(keyv)).toEqual([])
    await keyv.disconnect()
  })

  test('a time to live', async () => {
    const { keyv, store } = open()
    await keyv.set('short', 1, 20)
    await keyv.set('long', 2, 60_000)
    await sleep(40)
    expect([await keyv.get('short'), await keyv.has('short')]).toEqual([undefined, false])
    expect([await all(keyv), await store.get('short')]).toEqual([[['long', 2]], undefined])
    await keyv.disconnect()
  })

  test('namespaces keep apart', async () => {
    const store = new KeyvTwindex(place())
    const [pages, users] = ['pages', 'users'].map(
      (namespace) => new Keyv({ store, namespace, throwOnErrors: true }),
    )
    await pages.set('a', 1)
    await users.setMany(['a', 'b'].map((key) => ({ key, value: 2 })))
    expect([await pages.get('a'), await users.get('a')]).toEqual([1, 2])
    expect(new Map(await all(users))).toEqual(new Map().set('a', 2).set('b', 2))
    await users.clear()
    expect([await all(users), await all(pages)]).toEqual([[], [['a', 1]]])
    await pages.disconnect()
  })
})

test('what is in a file is there again', async () => {
  const path = join(folder, 'again.twx')
  for (const round of [1, 2]) {
    const keyv = new Keyv({ store: new KeyvTwindex({ path }), namespace: 'n' })
    expect(await keyv.get('round')).toBe(round === 1 ? undefined : 1)
    await keyv.set('round', round)
    await keyv.disconnect()
  }
})
