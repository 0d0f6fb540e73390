// Stores that all tabs and workers of an origin read and write.
//
// One of them, the holder, has the store's lock and its file. Each of the others, the members, has a copy: it reads the file, then applies
// every record that the holder appends. Members send their writes to the holder. All of them hear one channel:
//
//   hello epoch                 a member wants to join; the last epoch that it knows
//   refused to                  the answer of one that speaks another protocol
//   welcome to, epoch, seq      the holder's answer: read the file, and apply every feed after this one
//   holder epoch                there is a new holder, or the file is another one: join again
//   write epoch, first, requests   what a member wants written; its next such message waits until all of these are acknowledged
//   feed epoch, seq, records, acks
//   beat epoch, seq             soon after the last feed, so that a lost one is noticed
//   bye                         a member leaves
//
// What the holder does for a member it notes in the table REQUESTS, in the same record of the file, until the member has the answer. So a
// member can send again what nobody has acknowledged, to the next holder too, and nothing is done twice.

import { openNamed, readNamed } from '../named.js'
import { makeError, typeError } from '../shared/errors.js'
import { ASYNC_DISPOSE, INTERNAL } from '../shared/internal.js'
import { readBoolean, readOptions, TABLE } from '../shared/options.js'
import { Transaction, transact } from '../shared/transaction.js'
import { begin, openRaw } from '../transaction.js'
import { newWatch, numberOf } from '../watch.js'
import {
  asData,
  checkTable,
  guarded,
  isPlain,
  isRead,
  isSame,
  REQUESTS,
  recording,
  UPSERT,
} from './requests.js'
import { openCopy, openWatched } from './store.js'
import { ConnectedTable } from './table.js'

const PROTOCOL = 1
/** As for other transactions. */
const RUNS = 1000
/** The most requests in a message: the holder does nothing else meanwhile. */
const AT_ONCE = 1000

const FROM_HOLDER = ['welcome', 'holder', 'feed', 'beat']

const newId = () => crypto.getRandomValues(new BigUint64Array(1))[0].toString(36)
const versions = (other) =>
  makeError(
    'TWINDEX_IN_USE',
    `a tab or worker has the store open with another version of twindex-wasm (protocol ${other}, not ${PROTOCOL}): reload or close it, or this one`,
  )

/** Runs work in a task of its own, behind the messages that have come; timers wait for longer. */
function soon(work) {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => {
    port1.close()
    work()
  }
  port2.postMessage(undefined)
}

/** The records to send to the members next, and the functions that wait for that. */
const isFull = ({ records, acks, waiting }) => records.length + acks.length + waiting.length > 0
const emptyOut = () => ({ records: [], acks: [], waiting: [] })

/**
 * `host` has the store's `name`, `lock(signal)`, `live(id)` and `alive()`, which say of members whether they live, `channel()`,
 * `place(storage)`, `core()` and `onHide(hide, show)`. After `again` milliseconds a member repeats what had no answer; that is also the least
 * time between two openings of a file.
 */
export class ConnectedStore {
  #host
  #options
  #id
  /** joining, reading, member; opening, holder; aside, closed. */
  #role = 'joining'
  #channel
  #abort
  #unhook
  #lock
  /** Of reading and opening: another one has begun where it is not the same any more. */
  #turn
  #copy
  #epoch = 0
  #seq = 0
  #ready
  #failure
  #closing
  #timer
  #watches = new Set()
  // --- as a member
  #count = 0
  #pending = []
  /** The timer of those that wait for too long. */
  #late
  /** The last request of the message that is under way. */
  #flight = 0
  /** Feeds that came before the file was read. */
  #early = []
  /** Feeds that are to be applied. */
  #feeds = []
  /** What the copy shows of requests that are pending, and how to take it back. */
  #shown = []
  // --- as the holder
  #answered = new Map()
  #out = emptyOut()
  #pumping
  #hasMembers = false
  #beat
  #opened = 0
  /** Settles once no file is being opened any more. */
  #opening

  constructor(internal, host, options) {
    if (internal !== INTERNAL) throw typeError('a connected store is made by connect()', internal)
    this.#host = host
    this.#options = options
  }

  static async open(host, options) {
    const store = new ConnectedStore(INTERNAL, host, options)
    try {
      await store.#start()
    } catch (error) {
      await store.#leave()
      throw error
    }
    store.#unhook = host.onHide(
      () => store.#hide(),
      () => store.#start().catch((error) => store.#fail(error)),
    )
    return store
  }

  async #start() {
    const id = newId()
    this.#id = id
    this.#role = 'joining'
    this.#abort = new AbortController()
    const { signal } = this.#abort
    const { timeout } = this.#options
    let late
    const ready = new Promise((resolve, reject) => {
      this.#ready = { resolve, reject }
      signal.addEventListener('abort', resolve)
      late = setInterval(() => this.#role === 'joining' && reject(this.#nobody('TWINDEX_IN_USE')), timeout)
    }).finally(() => clearInterval(late))
    ready.catch(() => {})
    this.#channel = this.#host.channel()
    this.#channel.onmessage = ({ data }) => this.#hear(data)
    const unlist = await this.#host.live(id)
    signal.addEventListener('abort', unlist)
    if (signal.aborted) return unlist()
    const { canHold } = await this.#host.place()
    if (signal.aborted) return undefined
    this.#join()
    if (canHold) {
      this.#host.lock(signal).then(
        (lock) => this.#hold(lock, signal),
        (error) => signal.aborted || this.#fail(error),
      )
    }
    return ready
  }

  #nobody(code) {
    const { name } = this.#host
    const { timeout } = this.#options
    const message = `waited ${timeout} ms for the tab or worker that has the store '${name}': it does not answer. It may hang, be asleep, or have used open() in place of connect()`
    return makeError(code, message)
  }

  #post(message) {
    this.#channel?.postMessage({ twindex: PROTOCOL, from: this.#id, ...message })
  }

  #hear(message) {
    if (typeof message?.twindex !== 'number') return undefined
    const { twindex, type, from, to, epoch, seq } = message
    if (to !== undefined && to !== this.#id) return undefined
    if (twindex !== PROTOCOL) {
      if (type === 'hello') this.#post({ type: 'refused', to: from })
      else if (type === 'refused' || type === 'holder') this.#fail(versions(twindex))
      return undefined
    }
    if (this.#role === 'holder') {
      // The clock was set back since.
      if (epoch > this.#epoch) return this.#renew(epoch)
      if (type === 'hello') return this.#welcome(from)
      if (type === 'write' && epoch < this.#epoch) return this.#post({ type: 'holder', epoch: this.#epoch })
      if (type === 'write') return this.#serve(from, message.first, message.requests)
      return type === 'bye' ? this.#forget([from]) : undefined
    }
    if (!['joining', 'reading', 'member'].includes(this.#role) || !FROM_HOLDER.includes(type))
      return undefined
    if (epoch < this.#epoch) return this.#hello() // which tells it
    if (this.#role === 'joining') {
      if (type === 'welcome') this.#read(message)
      else if (type === 'feed') this.#early.push(message)
      else if (type === 'holder') this.#hello()
      return undefined
    }
    if (epoch > this.#epoch) return this.#join()
    if (type === 'feed' && this.#role === 'reading') this.#early.push(message)
    else if (type === 'feed') this.#take(message)
    const last = this.#feeds.at(-1)?.seq ?? this.#seq
    return type === 'beat' && this.#role === 'member' && seq > last ? this.#join() : undefined
  }

  // --- as a member

  #join() {
    this.#role = 'joining'
    this.#turn = undefined
    this.#early = []
    this.#feeds = []
    this.#hello()
    this.#wake()
  }

  #hello() {
    this.#post({ type: 'hello', epoch: this.#epoch })
  }

  /** Says again what has no answer, for as long as there is such a thing. */
  #wake() {
    this.#timer ??= setInterval(() => {
      if (this.#role === 'joining') this.#hello()
      else if (this.#role === 'member' && this.#flight > 0) this.#send(true)
      else if (this.#role !== 'reading') this.#rest()
    }, this.#options.again)
  }

  #rest() {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #read({ epoch, seq, storage }) {
    const turn = {}
    this.#turn = turn
    this.#role = 'reading'
    const isAnother = epoch !== this.#epoch
    this.#epoch = epoch
    try {
      const { place } = await this.#host.place(storage)
      const copy = await openCopy(await this.#host.core(), place, this.#options.memoryLimit)
      if (this.#turn !== turn) return
      this.#enter(copy, seq, isAnother)
    } catch (error) {
      if (this.#turn === turn) this.#fail(error)
    }
  }

  #enter(copy, seq, isAnother) {
    this.#copy = Object.assign(copy, { raw: new Map() })
    this.#seq = seq
    this.#role = 'member'
    this.#shown = []
    this.#flight = 0
    this.#watchAnew()
    if (isAnother) this.#endOpen()
    this.#show()
    const early = this.#early.filter((feed) => feed.epoch === this.#epoch)
    this.#early = []
    for (const feed of early) if (this.#role === 'member') this.#take(feed)
    if (this.#role !== 'member') return
    this.#ready.resolve()
    this.#send()
  }

  /** Ends the requests of which no other holder can say whether they were done. */
  #endOpen() {
    const isOpen = ({ isSent, body }) => isSent && (body.drop ?? body.clear) !== undefined
    const open = this.#pending.filter(isOpen)
    this.#pending = this.#pending.filter((request) => !isOpen(request))
    for (const request of open) this.#settle(request, this.#unknown('the tab or worker that had it has gone'))
  }

  /** Where much is shown that is pending, to take it back for each feed would take longer than feeds take to come. */
  #take(feed) {
    this.#feeds.push(feed)
    if (this.#feeds.length > 1) return
    if (this.#shown.length === 0) this.#takeAll()
    else soon(() => this.#takeAll())
  }

  #takeAll() {
    const feeds = this.#feeds.splice(0)
    if (this.#role !== 'member') return
    const { apply, number, end } = this.#copy
    const acks = []
    this.#unshow()
    try {
      for (const feed of feeds) {
        if (feed.seq <= this.#seq) continue
        if (feed.seq > this.#seq + 1) {
          this.#show()
          this.#join()
          return
        }
        this.#seq = feed.seq
        acks.push(...feed.acks)
        for (const [file, at, bytes] of feed.records) {
          if (file < number || (file === number && at < end)) continue
          apply(bytes)
          this.#tell(bytes)
        }
      }
    } catch (error) {
      this.#fail(error)
      return
    }
    this.#acknowledge(acks)
  }

  /** Ends the requests that were answered, once the copy has what they did. */
  #acknowledge(acks) {
    const mine = new Map(acks.filter(([id]) => id === this.#id).flatMap(([, outcomes]) => outcomes))
    const done = this.#pending.filter(({ n }) => mine.has(n))
    this.#pending = this.#pending.filter(({ n }) => !mine.has(n))
    this.#show()
    for (const request of done) {
      const { code, message, ...outcome } = mine.get(request.n)
      this.#settle(request, code === undefined ? undefined : makeError(code, message), outcome)
    }
    this.#sendNext()
  }

  #sendNext() {
    if (!this.#pending.some(({ n }) => n <= this.#flight)) this.#flight = 0
    this.#send()
  }

  /** Ends a request that is pending no more. */
  #settle(request, error, outcome) {
    if (error === undefined) request.resolve(outcome)
    else request.reject(error)
  }

  /** Has the holder do what `body` says: what it answers. */
  #submit(body) {
    const request = { n: ++this.#count, body, isSent: false }
    if (body.isDirect && body.steps.every(isPlain)) request.shows = body.steps
    try {
      this.#showOne(request)
    } catch (error) {
      this.#unshow()
      this.#show()
      throw error
    }
    request.ended = new Promise((resolve, reject) => Object.assign(request, { resolve, reject }))
    request.due = performance.now() + this.#options.timeout
    this.#pending.push(request)
    this.#await()
    queueMicrotask(() => this.#send())
    return request.ended
  }

  /** Ends, some at a time, the requests that wait for too long. */
  #await() {
    if (this.#pending.length === 0) return
    const { again, timeout } = this.#options
    this.#late ??= setTimeout(
      () => {
        this.#late = undefined
        const now = performance.now()
        const late = this.#pending.filter(({ due }) => due <= now)
        if (late.length > 0) {
          this.#unshow()
          this.#pending = this.#pending.filter(({ due }) => due > now)
          for (const request of late) {
            const error = request.isSent
              ? this.#unknown(`no answer in ${timeout} ms`)
              : this.#nobody('TWINDEX_UNAVAILABLE')
            this.#settle(request, error)
          }
          this.#show()
          this.#sendNext()
        }
        this.#await()
      },
      this.#pending[0].due - performance.now() + again / 10,
    )
  }

  #unknown(why) {
    const message = `a write to the store '${this.#host.name}' was sent to the tab or worker that has it, and was not acknowledged (${why}): it may be done or not`
    return makeError('TWINDEX_UNKNOWN_OUTCOME', message)
  }

  #send(isAgain = false) {
    if (this.#role === 'holder') return this.#serveOwn()
    if (this.#role !== 'member' || this.#pending.length === 0 || (this.#flight > 0 && !isAgain)) return
    const sent = isAgain
      ? this.#pending.filter(({ n }) => n <= this.#flight)
      : this.#pending.slice(0, AT_ONCE)
    for (const request of sent) request.isSent = true
    this.#flight = sent.at(-1)?.n ?? 0
    const requests = sent.map(({ n, body }) => [n, body])
    if (sent.length > 0) this.#post({ type: 'write', epoch: this.#epoch, first: requests[0][0], requests })
    this.#wake()
  }

  /** Has the copy show what pending requests will do. */
  #show() {
    for (const request of this.#pending) {
      try {
        this.#showOne(request)
      } catch {} // the holder says so too
    }
  }

  #showOne({ shows = [] }) {
    if (this.#copy.apply === undefined) return // the holder's own
    for (const [name, flags, verb, args] of shows) {
      const { core, handle, raw } = this.#copy
      const at = `${flags} ${name}`
      if (!raw.get(at)?.isThere()) raw.set(at, openRaw(core, handle, name, flags))
      const verbs = raw.get(at)
      const key = verb === 'write' ? args[1] : args[0]
      const before = verbs.select(key)
      verbs[verb](...args)
      this.#shown.push(() => (before === undefined ? verbs.delete(key) : verbs.write(UPSERT, key, before)))
    }
  }

  #unshow() {
    for (const undo of this.#shown.splice(0).reverse()) {
      try {
        undo()
      } catch {} // the table was dropped
    }
  }

  // --- as the holder

  async #hold(lock, signal) {
    const turn = {}
    const free = () => {
      lock.close()
      lock.release()
    }
    try {
      const { canHold } = await this.#host.place()
      if (!canHold || signal.aborted) return free()
      this.#turn = turn
      this.#lock = lock
      this.#role = 'opening'
      this.#opening = this.#open(turn)
      await this.#opening
    } catch (error) {
      if (this.#lock !== lock) free()
      if (!signal.aborted) this.#fail(error)
    }
    return undefined
  }

  async #open(turn, addFailed = () => {}) {
    const { durability, memoryLimit } = this.#options
    const watch = {
      record: (...record) => {
        this.#out.records.push([record[1], record[2], record[0]])
        this.#tell(record[0])
        this.#pump()
      },
      back: () => this.#role === 'holder' && this.#renew(),
    }
    const [core, { place }] = [await this.#host.core(), await this.#host.place()]
    const lock = { close() {}, release() {} }
    const copy = await openWatched(core, place, { durability, readOnly: false, memoryLimit, lock, watch })
    if (this.#turn !== turn) {
      await copy.end()
      return
    }
    this.#opened = performance.now()
    this.#copy = copy
    this.#shown = []
    this.#watchAnew()
    this.#load()
    addFailed((id) => this.#known(id))
    this.#role = 'holder'
    this.#renew()
    this.#endOpen()
    this.#serveOwn()
    this.#ready.resolve()
    await this.#forgetDead()
  }

  async #forgetDead() {
    const { store } = this.#copy
    const ids = [...this.#answered.keys()] // one that comes from now on may not be listed
    const alive = await this.#host.alive()
    if (this.#copy.store === store) this.#forget(ids.filter((id) => !alive.has(id)))
  }

  /** Reads which requests were done. */
  #load() {
    this.#answered = new Map()
    if (!this.#requests()) return
    for (const [key, outcome] of this.#requests()) {
      const [id, n] = key.split(' ')
      this.#known(id).set(Number(n), outcome)
    }
  }

  #known(id) {
    if (!this.#answered.has(id)) this.#answered.set(id, new Map())
    return this.#answered.get(id)
  }

  #requests(create = false) {
    const { store } = this.#copy
    if (!create && !store.tables().some(([name]) => name === REQUESTS)) return undefined
    return store.table(REQUESTS, { values: 'msgpack' })
  }

  /** Forgets what members were answered that have gone. */
  #forget(ids) {
    const keys = ids.flatMap((id) => [...this.#known(id).keys()].map((n) => `${id} ${n}`))
    for (const id of ids) this.#answered.delete(id)
    this.#unnote(keys)
  }

  #unnote(keys) {
    try {
      if (keys.length > 0) this.#requests()?.deleteMany(keys)
      keys.length = 0
    } catch {} // the next holder does
  }

  /** Has all members read the file anew. */
  #renew(epoch = this.#epoch) {
    this.#epoch = Math.max(Date.now(), epoch + 1) + Math.random() / 2 // no other's, whatever its clock says
    this.#seq = 0
    this.#post({ type: 'holder', epoch: this.#epoch })
  }

  async #welcome(to) {
    const { store } = this.#copy
    this.#hasMembers = true
    try {
      await store.flush()
      await this.#forgetDead()
    } catch (error) {
      this.#recover(error)
    }
    if (this.#role === 'holder' && this.#copy.store === store)
      this.#post({ type: 'welcome', to, epoch: this.#epoch, seq: this.#seq, storage: this.#copy.storage })
  }

  #serveOwn() {
    if (this.#pending.length === 0) return
    const requests = this.#pending.map(({ n, body }) => [n, body])
    this.#serve(this.#id, requests[0][0], requests)
  }

  #serve(from, first, requests) {
    const known = this.#known(from)
    const acked = [...known.keys()].filter((n) => n < first)
    const stale = acked.map((n) => `${from} ${n}`)
    const outcomes = requests.map(([n, body]) => {
      if (!known.has(n)) known.set(n, this.#do(`${from} ${n}`, body, stale))
      return [n, known.get(n)]
    })
    if (stale.length > AT_ONCE) this.#unnote(stale) // none of these requests did
    if (stale.length === 0) for (const n of acked) known.delete(n)
    this.#out.acks.push([from, outcomes])
    this.#pump()
  }

  /** Does one request: its answers, whether it met a conflict, or the code and message of an error. */
  #do(key, { create, named, drop, clear, steps, isDirect }, stale) {
    const { core, handle, store } = this.#copy
    try {
      if (create !== undefined) {
        core.exports.twindex_close(openNamed(core, handle, create, named, true).handle)
        return { answers: null }
      }
      if (drop !== undefined) return { answers: store.dropTable(drop) }
      if (clear !== undefined) {
        store.table(clear, { keys: 'bytes', values: 'bytes', create: false }).clear()
        return { answers: null }
      }
      const { memoryLimit } = store
      // The note of a request must not prevent one that makes room.
      if (!steps.some(([, , verb]) => verb === 'write' || verb === 'increment')) store.memoryLimit = undefined
      let access
      try {
        this.#requests(true)
        access = begin(core, handle)
        const answers = []
        const opened = new Map()
        for (const [name, flags, verb, args, ...seen] of steps) {
          const at = `${flags} ${name}`
          if (!opened.has(at)) opened.set(at, openRaw(core, access.handle, name, flags))
          const answer = asData(verb, opened.get(at)[verb](...args))
          if (seen.length > 0 && !isSame(answer, seen[0])) return { answers: null, isConflict: true }
          answers.push(typeof answer === 'bigint' ? `${answer}` : answer)
        }
        const outcome = { answers: isDirect ? answers : null }
        const requests = new Transaction(INTERNAL, store, access).table(REQUESTS, { values: 'msgpack' })
        requests.deleteMany(stale)
        requests.set(key, outcome)
        access.commit()
        stale.length = 0
        return outcome
      } finally {
        access?.end()
        store.memoryLimit = memoryLimit
      }
    } catch (error) {
      this.#recover(error)
      return { code: error.code ?? 'TWINDEX_BUG', message: error.message }
    }
  }

  /** Feeds the members, and ends what waits for that, once it is as durable as it is to be. */
  #pump() {
    this.#pumping ??= Promise.resolve()
      .then(() => this.#drain())
      .finally(() => {
        this.#pumping = undefined
        if (isFull(this.#out)) this.#pump() // something came while it ended
      })
  }

  async #drain() {
    while (isFull(this.#out)) {
      const { store, storage } = this.#copy
      const out = this.#out
      this.#out = emptyOut()
      try {
        // A file of the private file system has what was written, and survives the tab.
        if (storage !== 'opfs') await store.flush()
      } catch (error) {
        // Members send again what was lost, and get this error for what the file has not.
        for (const [, reject] of out.waiting) reject(error)
        this.#recover(error, out.acks)
        continue
      }
      if (this.#hasMembers && out.records.length + out.acks.length > 0) {
        this.#post({
          type: 'feed',
          epoch: this.#epoch,
          seq: ++this.#seq,
          records: out.records,
          acks: out.acks,
        })
        clearTimeout(this.#beat)
        this.#beat = setTimeout(() => {
          if (this.#role === 'holder') this.#post({ type: 'beat', epoch: this.#epoch, seq: this.#seq })
        }, this.#options.again / 2)
      }
      // While the file is opened again too, or what a full disk refused would be tried until it is late.
      if (this.#role === 'holder' || this.#role === 'opening') this.#acknowledge(out.acks)
      for (const [resolve] of out.waiting) resolve()
    }
  }

  /** Where the file could not be written, opens it again: it has what was acknowledged. */
  #recover(error, acks = []) {
    if (error.code !== 'TWINDEX_LOG_FAILED' || this.#role !== 'holder') return
    this.#role = 'opening'
    const turn = {}
    this.#turn = turn
    const again = async () => {
      await this.#pumping?.catch(() => {})
      await this.#copy.end().catch(() => {})
      const wait = this.#opened + this.#options.again - performance.now()
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      if (this.#turn !== turn) return
      const failed = { code: error.code, message: error.message }
      await this.#open(turn, (known) => {
        for (const [id, outcomes] of acks) {
          for (const [n] of outcomes) if (!known(id).has(n)) known(id).set(n, failed)
        }
      })
    }
    this.#opening = again()
    this.#opening.catch((failure) => this.#turn === turn && this.#fail(failure))
  }

  /** A write of the holder's own, once it is as durable as those of others. */
  async #own(work) {
    const copy = this.#copy
    try {
      const result = await work()
      if (this.#copy !== copy) throw this.#unknown('this one had it, and left it meanwhile')
      await new Promise((...ends) => {
        this.#out.waiting.push(ends)
        this.#pump()
      })
      return result
    } catch (error) {
      this.#recover(error)
      throw error
    }
  }

  // --- watches

  #watch(...given) {
    this.#check()
    const watch = newWatch(...given, (ended) => this.#watches.delete(ended))
    this.#follow(watch)
    this.#watches.add(watch)
    return watch
  }

  #follow(watch) {
    watch.follow(numberOf(this.#copy.core, this.#copy.handle, watch.table.name))
  }

  #tell(record) {
    for (const watch of this.#watches) watch.take(record)
  }

  /** Of what changed before this copy was read, nobody knows one by one. */
  #watchAnew() {
    for (const watch of this.#watches) {
      try {
        this.#follow(watch)
        watch.lose(1)
      } catch {
        watch.drop()
      }
    }
  }

  // --- as users see it

  #check() {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#closing !== undefined) throw makeError('TWINDEX_CLOSED', 'the store is closed')
  }

  #copyNow() {
    if (this.#failure !== undefined) throw this.#failure
    return this.#copy
  }

  async #write(body, work) {
    this.#check()
    if (this.#role === 'holder' && work !== undefined) return this.#own(work)
    return (await this.#submit(body)).answers
  }

  /** Whether this tab or worker has the file. */
  get isHolder() {
    return this.#role === 'holder'
  }

  get storage() {
    return this.#copyNow().storage
  }

  async table(name, options) {
    const { create = true, ...read } = readOptions(options, 'a table', TABLE)
    const { index, keys, values } = readNamed(name, read)
    readBoolean(create, 'create')
    checkTable(name)
    this.#check()
    const access = {
      store: this,
      copy: () => this.#copyNow(),
      isHolder: () => this.#role === 'holder',
      write: (...given) => this.#write(...given),
      watch: (...given) => this.#watch(...given),
    }
    try {
      return new ConnectedTable(access, name, read)
    } catch (error) {
      if (error.code !== 'TWINDEX_NO_TABLE' || !create) throw error
    }
    const codec = (given) => given && { name: given.name }
    const named = { index, keys: codec(keys), values: codec(values) }
    await this.#write({ create: name, named }, () => {
      const { core, handle } = this.#copy
      core.exports.twindex_close(openNamed(core, handle, name, named, true).handle)
    })
    return new ConnectedTable(access, name, read)
  }

  tables() {
    return this.#copyNow()
      .store.tables()
      .filter(([name]) => name !== REQUESTS)
  }

  async dropTable(name) {
    checkTable(name)
    return this.#write({ drop: name }, () => this.#copy.store.dropTable(name))
  }

  snapshot() {
    return this.#copyNow().store.snapshot()
  }

  async transaction(run) {
    for (let runs = 0; runs < RUNS; runs++) {
      this.#check()
      const steps = []
      const { core, handle } = this.#copy // for all runs: another copy may be a member's
      const start = () => guarded(begin(core, handle))
      if (this.#role === 'holder') return this.#own(() => transact(this, start, run))
      const result = await transact(this, () => recording(start(), steps), run)
      if (steps.every(isRead)) return result
      this.#check()
      const { isConflict } = await this.#submit({ steps })
      if (!isConflict) return result
    }
    throw makeError('TWINDEX_CONFLICT', `others changed what the transaction read, in each of ${RUNS} runs`)
  }

  get memory() {
    return this.#copyNow().store.memory
  }

  async dump() {
    return this.#copyNow().store.dump()
  }

  get closed() {
    return this.#closing !== undefined
  }

  /** Waits for the writes that are under way, and leaves. */
  close() {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close() {
    await Promise.allSettled(this.#pending.map(({ ended }) => ended))
    while (this.#pumping !== undefined) await this.#pumping
    await this.#leave()
  }

  async [ASYNC_DISPOSE]() {
    await this.close()
  }

  /** Gives up the store, after an error or for good. */
  async #leave() {
    const wasHolder = this.#role === 'holder'
    this.#role = 'closed'
    for (const watch of this.#watches) watch.finish()
    this.#unhook?.()
    this.#stop()
    try {
      if (wasHolder) this.#forget([this.#id])
      if (wasHolder) await this.#forgetDead().catch(() => {}) // else the next holder does
      if (wasHolder) await this.#copy.store.close()
      else this.#copy?.store.closeSync()
    } finally {
      this.#mute()
      await this.#unlock()
    }
  }

  #stop() {
    this.#turn = undefined
    this.#rest()
    clearTimeout(this.#beat)
    clearTimeout(this.#late)
    this.#late = undefined
    this.#abort?.abort()
    this.#post({ type: 'bye' })
  }

  /** Another opens the file at once, so this one must have ended. */
  async #unlock() {
    const lock = this.#lock
    this.#lock = undefined
    lock?.close()
    await this.#opening?.catch(() => {})
    lock?.release()
  }

  #fail(error) {
    if (this.#failure !== undefined || this.#role === 'closed') return
    this.#ready?.reject(error)
    this.#failure = error
    for (const request of this.#pending.splice(0)) this.#settle(request, error)
    this.#leave().catch(() => {})
  }

  /** The page is put aside, maybe for good: others go on without it. */
  #hide() {
    if (this.#role === 'closed') return
    const wasHolder = this.#role === 'holder'
    this.#role = 'aside'
    for (const request of this.#pending.splice(0))
      this.#settle(request, this.#unknown('the page went into the back/forward cache'))
    this.#stop()
    Promise.resolve(wasHolder ? this.#copy.end() : undefined)
      .catch(() => {})
      .finally(() => this.#unlock())
    this.#mute()
  }

  #mute() {
    this.#channel?.close()
    this.#channel = undefined
  }
}
