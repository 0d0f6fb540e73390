import { within } from './chromium.js'

// Runs in a page: a worker that has a store, and does what it is told.
const source = `
  import { check, connect, exportFile, importFile, list, open, remove, rename } from 'ADDRESStwindex-wasm/browser.js'
  let store, table, work
  let [count, isOver] = [0, false]
  const commands = {
    connect: async (name, options) => {
      store = await connect(name, options)
      table = await store.table('t')
    },
    isHolder: () => store.isHolder,
    put: (key, value) => table.set(key, value),
    begin: (at) => {
      work = (async () => {
        while (!isOver) {
          const [sum, isNew] = await Promise.all([
            table.increment('count ' + at),
            table.insert(at + ' ' + count, 'x'),
            table.set('last ' + at, '' + count),
          ])
          count++
          if (sum !== count || !isNew) throw new Error('write ' + count + ' of ' + at + ': ' + sum + ', ' + isNew)
          await new Promise((resolve) => setTimeout(resolve))
        }
      })()
      work.catch(() => {}) // end() says so
    },
    acknowledged: () => count,
    end: async () => {
      isOver = true
      await work
      return count
    },
    /** How much each of two writers has written, by all that it did. */
    shown: () => [0, 1].map((at) => {
      const total = Number(table.get('count ' + at))
      for (let n = 0; n < total; n++) if (!table.has(at + ' ' + n)) return 'no ' + n
      return table.get('last ' + at) === '' + (total - 1) ? total : 'not the last'
    }),
    open: async (name, options) => {
      store = await open(name, options)
      return { storage: store.storage, torn: store.torn, readOnly: store.readOnly }
    },
    write: (from, to) => {
      const table = store.table('t')
      for (let at = from; at < to; at++) table.set('key ' + at, 'value ' + at)
    },
    move: (from, to) => store.transaction((tx) => {
      tx.table('t').delete(from)
      tx.table('t').set(to, 'moved')
    }),
    many: (from, to) => {
      store.table('t').upsertMany(Array.from({ length: to - from }, (_, at) => ['key ' + (from + at), 'many']))
    },
    count: () => store.table('t').size,
    get: (key) => (table ?? store.table('t')).get(key),
    whole: () => [...store.table('t')].every(([key, value]) => value === key.replace('key', 'value')),
    flush: () => store.flush(),
    compact: () => store.compact(),
    close: () => store.close(),
    dump: () => store.dumpSync(),
    closeSync: () => store.closeSync(),
    list: (options) => list(options),
    remove: (name, options) => remove(name, options),
    copy: async (name, to, options) => {
      const file = await exportFile(name, options)
      await importFile(to, new Blob([file]), options)
    },
    rename: (name, to, options) => rename(name, to, options),
    check: async (name, options) => (await check(name, options)).damage,
    removeBase: (name) => new Promise((resolve) => (indexedDB.deleteDatabase(name).onsuccess = () => resolve())),
  }
  onmessage = async ({ data: [id, command, ...args] }) => {
    try {
      postMessage([id, await commands[command](...args)])
    } catch (error) {
      postMessage([id, undefined, { code: error.code, message: error.message }])
    }
  }
`

/** A page with such a worker: calls its commands by name. */
export async function openWorker(context, address) {
  const page = await within('a page', context.newPage())
  const close = page.close.bind(page)
  page.close = () => within('the end of a page', close())
  await page.goto(`${address}page.css`)
  await page.evaluate(
    (text) => {
      const worker = new Worker(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })), {
        type: 'module',
      })
      globalThis.worker = worker
      const waiting = new Map()
      let next = 0
      worker.onmessage = ({ data: [id, result, error] }) => {
        waiting.get(id)(error === undefined ? { result } : { error })
        waiting.delete(id)
      }
      globalThis.command = (...args) =>
        new Promise((resolve) => {
          waiting.set(++next, resolve)
          worker.postMessage([next, ...args])
        })
    },
    source.replace('ADDRESS', address),
  )
  const call = async (...args) => {
    const { result, error } = await within(
      args.join(' ').slice(0, 80),
      page.evaluate((given) => globalThis.command(...given), args),
    )
    if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code })
    return result
  }
  return { page, call }
}
