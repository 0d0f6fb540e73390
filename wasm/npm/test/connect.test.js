// Stores that several tabs read and write, over files, locks and a channel in memory; test/browser has them in a browser.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { afterEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { randomFrom } from '../../../bindings/node/test/numbers.js'
import { ConnectedStore } from '../src/browser/connect.js'
import { openCopy, openKept } from '../src/browser/store.js'
import { instantiate } from '../src/loader.js'
import { Place } from './place.js'

const module = await WebAssembly.compile(readFileSync(new URL('../twindex.files.wasm', import.meta.url)))

/** The tabs of an origin, and what they share. */
class Origin {
  files = new Map()
  tabs = new Set()
  waiting = []
  lock
  /** Whether a message is lost on its way to a tab. */
  loses = () => false
  /** Waits before a tab lists its files. */
  lists = async () => {}
  /** Set before a tab is opened. */
  kind = 'opfs'

  /** A tab with a store: `tab.store`. `hides` and `shows` are what a browser calls for its button "back". */
  async open(options) {
    const tab = {
      origin: this,
      protocol: options?.protocol,
      ids: new Set(),
      channels: new Set(),
      isDead: false,
      canHold: options?.canHold ?? true,
    }
    this.tabs.add(tab)
    const host = {
      name: 'app',
      lock: (signal) => this.#queue(tab, signal),
      live: async (id) => {
        tab.ids.add(id)
        return () => tab.ids.delete(id)
      },
      alive: async () => new Set([...this.tabs].flatMap(({ ids }) => [...ids])),
      channel: () => this.#channel(tab),
      place: async () => ({ place: this.#place(tab), canHold: tab.canHold }),
      core: () => instantiate(module),
      onHide: (hide, show) => {
        Object.assign(tab, { hide, show })
        return () => {}
      },
    }
    const { timeout = 5000, memoryLimit } = options ?? {}
    tab.store = await ConnectedStore.open(host, { durability: 'none', timeout, again: 30, memoryLimit })
    return tab
  }

  #place(tab) {
    const place = new Place()
    place.kind = this.kind
    place.isPrompt = this.kind === 'opfs'
    place.files = this.files
    const { list, open } = place
    place.list = async () => {
      await this.lists(tab)
      return list.call(place)
    }
    place.open = async (...given) => {
      const file = await open.apply(place, given)
      const [check, write] = [() => this.#check(tab), file.append]
      const isLater = this.kind === 'indexeddb'
      let [pending, failure] = [[]]
      file.append = (bytes) => {
        if (isLater) return pending.push(bytes)
        check()
        return write(bytes)
      }
      if (isLater) {
        file.flush = async () => {
          const pieces = pending
          pending = []
          await sleep(0)
          try {
            if (failure !== undefined) throw failure
            if (pieces.length > 0) check()
            for (const bytes of pieces) write(bytes)
          } catch (error) {
            failure = error
            throw error
          }
        }
      }
      return file
    }
    return place
  }

  #check({ isDead }) {
    if (isDead) throw new Error('the tab is dead')
    if (this.full) throw new DOMException('no room', 'QuotaExceededError')
  }

  #queue(tab, signal) {
    return new Promise((resolve, reject) => {
      const entry = { tab, resolve }
      signal.addEventListener('abort', () => {
        this.waiting = this.waiting.filter((other) => other !== entry)
        reject(signal.reason)
      })
      this.waiting.push(entry)
      this.#grant()
    })
  }

  #grant() {
    if (this.lock !== undefined || this.waiting.length === 0) return
    const { tab, resolve } = this.waiting.shift()
    this.lock = { tab }
    const { lock } = this
    const release = () => {
      if (this.lock !== lock) return
      this.lock = undefined
      this.#grant()
    }
    resolve({ close() {}, release })
  }

  #channel(tab) {
    const channel = {
      postMessage: (given) => {
        if (tab.isDead) return
        const message = structuredClone(given)
        for (const other of this.tabs) {
          for (const to of other.channels) {
            if (to === channel || this.loses(message, other)) continue
            setImmediate(
              () =>
                !other.isDead &&
                !other.isHung &&
                other.channels.has(to) &&
                to.onmessage?.({ data: { ...message, twindex: other.protocol === tab.protocol ? 1 : 2 } }),
            )
          }
        }
      },
      close: () => tab.channels.delete(channel),
    }
    tab.channels.add(channel)
    return channel
  }

  get holder() {
    return [...this.tabs].find(({ store, isDead }) => !isDead && store?.isHolder)
  }

  /** Ends a tab as a crash does: in the middle of whatever it does. */
  kill(tab) {
    tab.isDead = true
    tab.ids.clear()
    this.waiting = this.waiting.filter((entry) => entry.tab !== tab)
    this.tabs.delete(tab)
    if (this.lock?.tab !== tab) return
    this.lock = undefined
    this.#grant()
  }

  async close() {
    this.full = false
    this.loses = () => false
    for (const tab of this.tabs) tab.isHung = false
    for (const { store } of [...this.tabs].reverse()) await store?.close().catch(() => {})
  }
}

let origin
const begin = (kind = 'opfs') => {
  origin = new Origin()
  origin.kind = kind
  return origin
}
afterEach(() => origin.close())

/** Waits until something is so. */
async function until(what, isSo) {
  for (let times = 0; times < 500; times++) {
    if (await isSo()) return
    await sleep(10)
  }
  throw new Error(`waited 5 s until ${what}`)
}

const tablesOf = (...tabs) => Promise.all(tabs.map(({ store }) => store.table('t')))
const pairsOf = (table) => Object.fromEntries(table)

const tabsOf = async (count, options) => {
  const tabs = []
  for (let at = 0; at < count; at++) tabs.push(await origin.open(options))
  return tabs
}

for (const kind of ['opfs', 'indexeddb']) {
  test(`all tabs read what any of them wrote, and each its own writes at once (${kind})`, async () => {
    begin(kind)
    const tabs = await tabsOf(3)
    assert.deepEqual(
      tabs.map(({ store }) => store.isHolder),
      [true, false, false],
    )
    const tables = await Promise.all(tabs.map(({ store }) => store.table('users')))
    for (const [at, table] of tables.entries()) {
      const written = table.set(`key ${at}`, `${at}`)
      assert.equal(table.get(`key ${at}`), `${at}`)
      await written
    }
    for (const [at, table] of tables.entries()) {
      await until(`tab ${at} has all`, () => table.size === 3)
      assert.deepEqual(pairsOf(table), { 'key 0': '0', 'key 1': '1', 'key 2': '2' })
    }
    assert.deepEqual(tabs[2].store.tables(), [['users', 'hash']])
  })
}

test('the holder decides every conditional verb, whatever a copy shows', async () => {
  begin()
  const tabs = await tabsOf(3)
  const open = ({ store }) => store.table('t', { index: 'sorted', keys: 'tuple', values: 'int' })
  const all = await Promise.all(tabs.map(open))
  const [first, second, third] = all
  const together = (verb) => Promise.all(all.map(verb))
  const inserted = await together((table, at) => table.insert(['a'], at))
  assert.equal(inserted.filter((is) => is).length, 1)
  await first.set(['n'], 0)
  const sums = [...(await together((table) => table.increment(['n'], 2n)))]
  assert.ok(sums.includes(6n))
  const swapped = await together((table, at) => table.compareAndSwap(['n'], 6, 100 + at))
  assert.equal(swapped.filter((is) => is).length, 1)
  await together((table) => table.alter(['n'], () => 0))
  await together((table) => table.alter(['n'], (value) => value + 1))
  assert.equal(await first.increment(['n'], 0), 3)
  const pairs = ['n', 'm'].map((key) => [[key], 1])
  assert.deepEqual(await second.insertMany(pairs), [false, true])
  const amounts = Object.entries({ m: 4, z: 7 }).map(([key, by]) => [[key], by])
  assert.deepEqual(await third.incrementMany(amounts), [5, 7])
  assert.equal(await second.replace(['none'], 1), false)
  await until('the last tab has z', () => third.has(['z']))
  assert.deepEqual(await third.popLast(), [['z'], 7])
  assert.equal(await third.take(['m']), 5)
  assert.equal(await third.deleteRange({ gte: ['n'] }), 1)
  await third.clear()
  await until('all are empty', () => all.every(({ size }) => size === 0))
  await assert.rejects(second.increment(['x'], 1.5), { code: 'TWINDEX_TYPE' })
  await assert.rejects(second.insert('no tuple', 1), { code: 'TWINDEX_TYPE' })
  await second.set(['max'], Number.MAX_SAFE_INTEGER)
  await second.increment(['max'], 2n ** 62n)
  await assert.rejects(second.increment(['max'], 2n ** 62n), { code: 'TWINDEX_OVERFLOW' })
})

test('transactions of all tabs neither lose nor make money', async () => {
  begin()
  const tabs = await tabsOf(3)
  const accounts = await tabs[0].store.table('accounts', { values: 'int' })
  await accounts.upsertMany([0, 1, 2, 3].map((at) => [`${at}`, 100]))
  const below = randomFrom(5)
  const move = async ({ store }, at) => {
    await store.table('accounts')
    for (let times = 0; times < 15; times++) {
      const [from, to, sum] = [`${below(4)}`, `${below(4)}`, below(20)]
      await store.transaction(async (tx) => {
        const table = tx.table('accounts', { values: 'int' })
        if (times % 3 === at) await null
        table.set(from, table.get(from) - sum)
        table.set(to, table.get(to) + sum)
      })
    }
  }
  await Promise.all(tabs.map(move))
  const failing = tabs[2].store.transaction((tx) => {
    tx.table('accounts', { values: 'int' }).set('0', 1_000_000)
    throw new Error('no')
  })
  await assert.rejects(failing, { message: 'no' })
  for (const { store } of tabs) {
    const table = await store.table('accounts')
    await until('the sum is right', () => [...table.values()].reduce((a, b) => a + b) === 400)
  }
})

for (const kind of ['opfs', 'indexeddb']) {
  test(`tabs that are killed take nothing acknowledged with them, and nothing is done twice (${kind})`, async () => {
    begin(kind)
    const below = randomFrom(11)
    const tabs = await tabsOf(6)
    const writers = tabs.splice(-2)
    const acked = new Map()
    const counted = writers.map(() => 0)
    let isOver = false
    const work = writers.map(async ({ store }, at) => {
      const table = await store.table('t', { values: 'int' })
      for (let step = 0; !isOver; step++) {
        const writes = Array.from({ length: 1 + below(4) }, (_, n) => [`${at} ${step} ${n}`, step])
        const all = await Promise.all([
          ...writes.map(([key, value]) => table.insert(key, value)),
          table.increment(`count ${at}`),
          store.transaction((tx) => tx.table('t', { values: 'int' }).increment('all', 1)),
        ])
        counted[at]++
        // Done twice, an insert would say false.
        assert.deepEqual(all.slice(0, -1), [...writes.map(() => true), counted[at]])
        for (const [key, value] of writes) acked.set(key, value)
        await sleep(0)
      }
    })
    // Each holder dies at a moment of its own: after it wrote and before it said so, too.
    for (const holder of tabs) {
      await until('it holds', () => holder.store.isHolder)
      let left = below(4)
      origin.loses = (message) => {
        if (message.type !== 'feed' || left-- > 0) return false
        setImmediate(() => origin.kill(holder))
        return true
      }
      await until('the holder is dead', () => holder.isDead)
      origin.loses = () => false
    }
    await sleep(50)
    isOver = true
    await Promise.all(work)
    const table = await writers[0].store.table('t')
    for (const [key, value] of acked) assert.equal(table.get(key), value, key)
    await until('it has the sum', () => table.get('all') === counted[0] + counted[1])
    await origin.close()
    const place = new Place()
    place.files = origin.files
    const lock = { close() {}, release() {} }
    const options = { durability: 'none', readOnly: false, lock }
    const kept = await openKept(await instantiate(module), place, options)
    for (const [key, value] of acked) assert.equal(kept.table('t').get(key), value, key)
    assert.equal(kept.table('twindex:requests').size, 0)
    await kept.close()
  })
}

test('messages that are lost or come late only delay', async () => {
  begin()
  const [first, second] = await tabsOf(2)
  const [mine, theirs] = await tablesOf(first, second)
  const lost = { write: 1, feed: 1, beat: 0, welcome: 1 }
  origin.loses = ({ type }) => lost[type]-- > 0
  assert.equal(await theirs.insert('a', '1'), true)
  assert.equal(mine.get('a'), '1')
  // The last feed is lost, and there is no other.
  Object.assign(lost, { feed: 1 })
  await mine.set('b', '2')
  await until('the beat tells', () => theirs.get('b') === '2')
  // One is lost, and the next comes.
  Object.assign(lost, { feed: 1 })
  await mine.set('c', '3')
  await mine.set('d', '4')
  await until('it has the next', () => theirs.get('d') === '4')
  assert.equal(theirs.get('c'), '3')
})

test('a tab that joins under writes misses nothing and applies nothing twice', async () => {
  begin()
  const [first] = await tabsOf(1)
  let next = 0
  for (let joins = 0; joins < 3; joins++) {
    const opening = origin.open()
    const before = next
    for (let isOpen = false; !isOpen || next < before + 5; ) {
      // To create a table twice would fail.
      const table = await first.store.table(`table ${next++}`)
      await table.set('a', 'b')
      isOpen = await Promise.race([opening.then(() => true), sleep(0)])
    }
    const { store } = await opening
    await until('it has all', () => store.tables().length === next)
  }
})

test('a write that the holder refuses is taken back', async () => {
  begin()
  const [first, second] = await tabsOf(2)
  const [mine, theirs] = await tablesOf(first, second)
  await mine.set('a', '1')
  await until('both have it', () => theirs.get('a') === '1')
  const dropped = first.store.dropTable('t')
  const refused = theirs.set('a', '2')
  assert.equal(theirs.get('a'), '2')
  await assert.rejects(refused, { code: /TWINDEX_(NO_TABLE|TABLE_DROPPED)/ })
  assert.equal(await dropped, true)
  assert.equal(theirs.get('a'), undefined)
  assert.equal(await second.store.dropTable('t'), false)
  // One of the same name is another table.
  const other = await second.store.table('t')
  await other.set('a', '3')
  await assert.rejects(theirs.set('a', '4'), { code: 'TWINDEX_TABLE_DROPPED' })
  await assert.rejects(theirs.take('a'), { code: 'TWINDEX_TABLE_DROPPED' })
  await assert.rejects(theirs.clear(), { code: 'TWINDEX_TABLE_DROPPED' })
  const third = await first.store.table('t')
  assert.equal(third.get('a'), '3')
  // With other codecs it takes no bytes of the old ones.
  const late = other.set('a', 'no MessagePack')
  await Promise.all([
    first.store.dropTable('t').then(() => first.store.table('t', { values: 'msgpack' })),
    assert.rejects(late, { code: /TWINDEX_(NO_TABLE|TABLE_DROPPED)/ }),
  ])
  assert.equal((await first.store.table('t')).has('a'), false)
})

for (const kind of ['opfs', 'indexeddb']) {
  for (const how of ['close', 'hide']) {
    test(`one that goes while it takes over keeps others out until its file is closed (${kind}, ${how})`, async () => {
      begin(kind)
      const [first, second, third] = await tabsOf(3)
      await (await first.store.table('t')).set('a', '1')
      const table = await third.store.table('t')
      let goOn
      origin.lists = (tab) =>
        new Promise((resolve) => {
          if (tab === second && origin.lock?.tab === second) goOn ??= resolve
          else resolve()
        })
      origin.kill(first)
      await until('the second opens the file', () => goOn !== undefined)
      const gone = how === 'close' ? second.store.close() : second.hide()
      await sleep(20)
      assert.equal(origin.lock.tab, second)
      goOn()
      await gone
      await table.set('b', '2')
      assert.equal(third.store.isHolder, true)
      assert.deepEqual(pairsOf(table), { a: '1', b: '2' })
    })
  }
}

test('clear is not done twice, over two holders that die', async () => {
  begin()
  const [first, third] = await tabsOf(2)
  const [mine, cleared] = [await first.store.table('t'), await third.store.table('t')]
  await mine.set('old', '1')
  const second = await origin.open()
  origin.waiting.reverse() // the second holds before the third
  const theirs = await second.store.table('t')
  origin.loses = ({ type }, to) => {
    if (type === 'feed' && !first.isDead) origin.kill(first)
    return first.isDead && (type === 'feed' || (to === third && type === 'welcome'))
  }
  const clearing = assert.rejects(cleared.clear(), { code: 'TWINDEX_UNKNOWN_OUTCOME' })
  await until('the second holds', () => second.store.isHolder)
  await theirs.set('new', '1')
  origin.kill(second)
  await until('the third holds', () => third.store.isHolder)
  await clearing
  assert.deepEqual([...cleared], [['new', '1']])
})

test('a transaction that waits goes on where its tab becomes the holder, and ends with the store', async () => {
  begin()
  const [first, second] = await tabsOf(2)
  const table = await second.store.table('t', { values: 'int' })
  const later = (tab, wait) =>
    tab.store.transaction(async (tx) => {
      tx.table('t', { values: 'int' }).increment('a')
      await wait()
    })
  await later(second, async () => {
    origin.kill(first)
    await until('it holds', () => second.store.isHolder)
  })
  assert.equal(table.get('a'), 1)
  const third = await origin.open()
  for (const tab of [third, second]) {
    const closed = later(tab, () => tab.store.close())
    await assert.rejects(closed, { code: 'TWINDEX_CLOSED' })
  }
})

test('a clock that is set back stops nothing', async (t) => {
  begin()
  const [first, reader] = [await origin.open(), await origin.open({ canHold: false })]
  const mine = await first.store.table('t')
  const theirs = await reader.store.table('t')
  const now = Date.now()
  t.mock.method(Date, 'now', () => now - 3_600_000)
  origin.full = true
  await assert.rejects(mine.set('a', '1'), { code: 'TWINDEX_LOG_FAILED' })
  origin.full = false
  await mine.set('a', '2')
  await first.store.close()
  const second = await origin.open()
  await (await second.store.table('t')).set('a', '3')
  await until('the reader follows the new holder', () => theirs.get('a') === '3')
})

test('what is noted for tabs that crash goes with the next tab that joins', async () => {
  begin()
  const [first] = await tabsOf(1)
  const noted = () => first.store.snapshot().table('twindex:requests', { values: 'msgpack' }).size
  for (let tabs = 0; tabs < 3; tabs++) {
    const tab = await origin.open()
    const table = await tab.store.table('t')
    await Promise.all([table.set('a', '1'), table.set('b', '2')])
    assert.equal(noted(), 2)
    origin.kill(tab)
  }
  const { store } = await origin.open()
  const table = await store.table('t')
  await until('none is noted', () => noted() === 0)
  await table.set('a', '1')
  for (let times = 0; times < 1010; times++) await table.clear()
  assert.equal(noted(), 0)
})

test('at a memory limit a copy shows what the holder has, and tabs can delete', async () => {
  begin()
  const [first, second] = await tabsOf(2, { memoryLimit: 1 << 18 })
  const [mine, theirs] = await tablesOf(first, second)
  const full = { code: 'TWINDEX_MEMORY_LIMIT' }
  for (const length of [1000, 1]) {
    const fill = async () => {
      for (let at = 0; ; at++) await mine.set(`${length} ${at}`, 'x'.repeat(length))
    }
    await assert.rejects(fill(), full)
  }
  await until('the copy has all', () => theirs.size === mine.size)
  const pairs = { '1000 0': 'half', large: 'y'.repeat(1 << 18) }
  await assert.rejects(theirs.upsertMany(Object.entries(pairs)), full)
  assert.equal(theirs.get('1000 0').length, 1000)
  assert.equal(await theirs.delete('1000 1'), true)
  assert.equal(mine.has('1000 1'), false)
  assert.equal(second.store.closed, false)
})

for (const kind of ['opfs', 'indexeddb']) {
  test(`where the disk is full writes fail, nothing is lost, and writing resumes with room (${kind})`, async () => {
    begin(kind)
    const tabs = await tabsOf(2)
    const [mine, theirs] = await Promise.all(tabs.map(({ store }) => store.table('t')))
    await theirs.set('a', '1')
    origin.full = true
    const full = { code: 'TWINDEX_LOG_FAILED', message: /no room/ }
    await assert.rejects(theirs.set('a', '2'), full)
    origin.full = false
    await theirs.set('b', '2')
    origin.full = true
    await assert.rejects(mine.set('a', '3'), full)
    origin.full = false
    await mine.set('c', '3')
    for (const table of [mine, theirs])
      await until('all is right', () => table.size === 3 && table.get('a') === '1')
    assert.deepEqual(pairsOf(theirs), { a: '1', b: '2', c: '3' })
  })
}

for (const kind of ['opfs', 'indexeddb']) {
  test(`while the disk stays full, the holder's waiting writes say so too (${kind})`, async () => {
    begin(kind)
    const [first] = await tabsOf(1)
    const [table] = await tablesOf(first)
    origin.full = true
    for (const key of ['a', 'b']) await assert.rejects(table.set(key, '1'), { code: 'TWINDEX_LOG_FAILED' })
    origin.full = false
    await table.set('c', '2')
    assert.deepEqual(pairsOf(table), { c: '2' })
  })
}

test('every tab watches what any tab writes, and learns of a takeover', async () => {
  const origin = new Origin()
  const [holder, member] = [await origin.open(), await origin.open()]
  const users = await member.store.table('users')
  const watches = [users.watch('a'), (await holder.store.table('users')).watch('a')]
  await users.set('ada', '1')
  await (await holder.store.table('users')).increment('ada')
  await users.set('bob', '1')
  const put = (value) => ({ table: 'users', kind: 'put', key: 'ada', value })
  for (const watch of watches)
    assert.deepEqual([await watch.wait(5000), await watch.wait(5000)], [put('1'), put('2')])
  await holder.store.close()
  assert.deepEqual(await watches[1].next(), { value: undefined, done: true })
  assert.deepEqual(await watches[0].wait(5000), { table: 'users', kind: 'lost', count: 1 })
  await users.delete('ada')
  assert.deepEqual(await watches[0].wait(5000), { table: 'users', kind: 'delete', key: 'ada' })
  await member.store.dropTable('users')
  assert.equal((await watches[0].wait(5000)).kind, 'drop')
})

test('a member follows the holder from one file to the next', async () => {
  begin()
  const [first, second] = await tabsOf(2)
  const open = ({ store }) => store.table('t', { values: 'bytes' })
  const [mine, theirs] = await Promise.all([first, second].map(open))
  for (let write = 0; write < 8; write++) await theirs.set('a', new Uint8Array(1 << 20).fill(write))
  await until('the file was compacted', () => !origin.files.has(1))
  await mine.set('b', Uint8Array.of(1))
  const third = await (await origin.open()).store.table('t')
  for (const table of [theirs, third])
    await until('all have b', () => table.get('b')?.[0] === 1 && table.get('a')[7] === 7)
})

test('tabs with other versions of the package are told, and the older goes on', async () => {
  begin()
  const [first] = await tabsOf(1)
  const message = { code: 'TWINDEX_IN_USE', message: /another version/ }
  await assert.rejects(origin.open({ protocol: 2 }), message)
  const table = await first.store.table('t')
  await table.set('a', '1')
  assert.equal(origin.waiting.length, 0)
  const second = await origin.open()
  assert.equal((await second.store.table('t')).get('a'), '1')
})

test('a holder that hangs is named, and what was sent may be done or not', async () => {
  begin()
  const [first, second] = await tabsOf(2, { timeout: 400 })
  const table = await second.store.table('t')
  first.isHung = true
  const [sent, waiting] = [table.set('a', '1'), sleep(20).then(() => table.set('b', '2'))]
  await Promise.all([
    assert.rejects(sent, {
      code: 'TWINDEX_UNKNOWN_OUTCOME',
      message: /'app' was sent .*no answer in 400 ms/,
    }),
    assert.rejects(waiting, { message: /'app'/ }),
  ])
  assert.equal(table.get('a'), undefined)
  await assert.rejects(origin.open({ timeout: 400 }), {
    code: 'TWINDEX_IN_USE',
    message: /waited 400 ms .*'app'/,
  })
  first.isHung = false
  await table.set('c', '3')
  // What others wrote meanwhile shows once the tab gives up its own.
  const mine = await first.store.table('t')
  origin.loses = ({ type }) => type === 'write'
  const late = assert.rejects(table.set('c', '4'), { code: 'TWINDEX_UNKNOWN_OUTCOME' })
  assert.equal(table.get('c'), '4')
  await mine.set('c', '5')
  await late
  assert.equal(table.get('c'), '5')
})

test('a page that is put aside lets others go on, and comes back', async () => {
  begin()
  const [first, second] = await tabsOf(2)
  const [mine, theirs] = await tablesOf(first, second)
  await theirs.set('a', '1')
  first.hide()
  await until('the other holds', () => second.store.isHolder)
  await theirs.set('a', '2')
  first.show()
  await until('it is back', () => mine.get('a') === '2')
  await mine.set('b', '3')
  assert.equal(theirs.get('b'), '3')
  // A member too.
  first.hide()
  await theirs.set('a', '4')
  first.show()
  await until('it is back', () => mine.get('a') === '4')
})

for (const kind of ['opfs', 'indexeddb']) {
  for (const how of ['it holds again', 'another holds', 'it is run again']) {
    test(`a transaction that the page was put aside under is not acknowledged (${kind}, ${how})`, async () => {
      begin(kind)
      const [first, second] = await tabsOf(how === 'it holds again' ? 1 : 2)
      const [table] = await tablesOf(first)
      let goOn
      const waits = new Promise((resolve) => {
        goOn = resolve
      })
      const late = first.store.transaction(async (tx) => {
        tx.table('t').insert('a', '1')
        await waits
      })
      if (how === 'it is run again') {
        await table.set('a', '0')
        await table.delete('a')
      }
      first.hide()
      if (second !== undefined) await until('the other holds', () => second.store.isHolder)
      first.show()
      await until('it is back', () => first.store.isHolder !== (second !== undefined))
      await table.set('b', '2')
      goOn()
      await assert.rejects(late, { code: 'TWINDEX_CLOSED' })
      await table.set('c', '3')
      assert.deepEqual(pairsOf(table), { b: '2', c: '3' })
      const other = await origin.open()
      assert.deepEqual(pairsOf(await other.store.table('t')), { b: '2', c: '3' })
    })
  }
}

test('pages that come and go at once leave no lock behind', async () => {
  begin()
  const [first, second] = await tabsOf(2)
  for (let times = 0; times < 3; times++) {
    for (const tab of [first, second]) {
      tab.hide()
      tab.show()
    }
  }
  await (await second.store.table('t')).set('a', '1')
  await (await first.store.table('t')).set('a', '2')
  for (const { ids, channels } of [first, second]) assert.deepEqual([ids.size, channels.size], [1, 1])
})

test('one that cannot write where the store is stays a member', async () => {
  begin()
  const [first] = await tabsOf(1)
  const reader = await origin.open({ canHold: false, timeout: 300 })
  const table = await reader.store.table('t')
  await table.set('a', '1')
  await first.store.close()
  assert.equal(table.get('a'), '1')
  await assert.rejects(table.set('a', '2'), {
    code: /TWINDEX_(UNAVAILABLE|UNKNOWN_OUTCOME)/,
    message: /'app'/,
  })
  const worker = await origin.open()
  await until('it is joined', async () => (await worker.store.table('t')).get('a') === '1')
  await table.set('a', '3')
})

test('after close every use says so, and the last writes are there', async () => {
  begin()
  const [first, second] = await tabsOf(2)
  const table = await second.store.table('t', { keys: 'int', values: 'json' })
  const writing = table.set(1, { a: [null] })
  await second.store.close()
  assert.equal(await writing, true)
  assert.throws(() => table.get(1), { code: 'TWINDEX_CLOSED' })
  await assert.rejects(table.set(1, 2), { code: 'TWINDEX_CLOSED' })
  await assert.rejects(second.store.table('t'), { code: 'TWINDEX_CLOSED' })
  assert.deepEqual((await first.store.table('t')).get(1), { a: [null] })
  await assert.rejects(first.store.table('none', { create: false }), { code: 'TWINDEX_NO_TABLE' })
  const third = await origin.open()
  for (const { store } of [first, third]) {
    for (const use of [
      () => store.table('twindex:requests'),
      () => store.dropTable('twindex:requests'),
      () => store.transaction((tx) => tx.table('twindex:requests')),
    ])
      await assert.rejects(use, { code: 'TWINDEX_RANGE' })
  }
})

test('a copy takes any bytes for a record without a trap', async () => {
  begin()
  const [first] = await tabsOf(1)
  await (await first.store.table('t')).set('a', '1')
  const place = new Place()
  place.files = origin.files
  const copy = await openCopy(await instantiate(module), place)
  const below = randomFrom(3)
  for (let times = 0; times < 5000; times++) {
    const bytes = Uint8Array.from({ length: below(40) }, () => below(below(2) ? 256 : 9))
    try {
      copy.apply(bytes)
    } catch ({ code }) {
      assert.equal(code, 'TWINDEX_CORRUPT')
    }
  }
  assert.equal(copy.store.table('after').set('a', 'b').get('a'), 'b')
})
