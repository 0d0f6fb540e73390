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
  postMessage('ready')
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
  // Chromium gives up requests where the network of the machine changes, and the worker does not start then.
  for (let times = 1; ; times++) {
    const { page, call, started } = await begin(context, address)
    try {
      await within('the start of a worker', started, 60_000)
      return { page, call }
    } catch (error) {
      if (times === 3) throw error
      await page.close()
    }
  }
}

async function begin(context, address) {
  const page = await within('a page', context.newPage())
  const close = page.close.bind(page)
  page.close = () => within('the end of a page', close())
  const said = []
  page.on('console', (message) => said.push(message.text()))
  page.on('requestfailed', (request) => said.push(`${request.url()} ${request.failure()?.errorText}`))
  await page.goto(`${address}page.css`)
  const started = page.evaluate(
    (text) => {
      const worker = new Worker(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })), {
        type: 'module',
      })
      globalThis.worker = worker
      const waiting = new Map()
      let next = 0
      globalThis.command = (...args) =>
        new Promise((resolve) => {
          waiting.set(++next, resolve)
          worker.postMessage([next, ...args])
        })
      return new Promise((resolve, reject) => {
        worker.onerror = ({ message }) => reject(new Error(`the worker did not start: ${message}`))
        worker.onmessage = ({ data }) => {
          if (data === 'ready') return resolve()
          const [id, result, error] = data
          waiting.get(id)(error === undefined ? { result } : { error })
          waiting.delete(id)
        }
      })
    },
    source.replace('ADDRESS', address),
  )
  const call = async (...args) => {
    const name = () => `${JSON.stringify(args).slice(0, 80)}, the page said: ${said.join('; ')}`
    const { result, error } = await within(
      name,
      page.evaluate((given) => globalThis.command(...given), args),
    )
    if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code })
    return result
  }
  return { page, call, started }
}
