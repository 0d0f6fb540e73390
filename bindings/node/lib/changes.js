// The feed: the changes of a store, in the order of its log.

import { Block } from './changed.js'
import { preventClone } from './clone.js'
import { readPath } from './files.js'
import { native } from './native.js'
import { onAbort } from './shared/abort.js'
import { readCodecs, rememberedCodecs } from './shared/codecs.js'
import { checkInternal, INTERNAL } from './shared/internal.js'
import { readBoolean, readIterable, readOptions, readSignal, readString } from './shared/options.js'
import { NEXT, TURN, Waiting } from './shared/waiting.js'
import { inside } from './table.js'

const OPTIONS = ['tables', 'raw', 'signal', 'ref']

/** How long to wait before looking again: at first, after changes came, and when none do. */
const SHORTEST_MS = 1
const LONGEST_MS = 32

const forgotten = new FinalizationRegistry(native.freeChanges)

const RAW = readCodecs({ keys: 'bytes', values: 'bytes' })

/** How to see the tables of which changes are wanted: all of them, or those that a handle was given of. */
class Codecs {
  #isRaw
  #handles
  #known = new Map()

  constructor(isRaw, tables) {
    this.#isRaw = isRaw
    this.#handles = tables && new Map(tables.map((table) => [table.name, inside(table)]))
  }

  isWanted(table) {
    return this.#handles === undefined || this.#handles.has(table.name)
  }

  of({ name, keys, values }) {
    if (this.#isRaw) return RAW
    const id = JSON.stringify([name, keys, values])
    let codecs = this.#known.get(id)
    if (codecs === undefined) {
      // A table of that name may have been another once.
      const fits = (codec, its) => (codec?.name === its || codec?.name === 'bytes' ? codec : undefined)
      const handle = this.#handles?.get(name)
      const named = { keys: fits(handle?.keys, keys), values: fits(handle?.values, values) }
      codecs = rememberedCodecs(name, named, [keys, values])
      this.#known.set(id, codecs)
    }
    return codecs
  }
}

function readChanges(options) {
  const read = readOptions(options, 'a feed', OPTIONS)
  const { tables, raw = false, signal, ref = true } = read
  readBoolean(raw, 'raw')
  readBoolean(ref, 'ref')
  readSignal(signal)
  const wanted = tables === undefined ? undefined : [...readIterable(tables, 'tables')]
  return { codecs: new Codecs(raw, wanted), signal, ref }
}

/** An async iterator over batches of changes. From the start it holds the file open, and between two looks nothing else. */
export class Changes extends Waiting {
  #handle
  /** Keeps it from being collected, which would end this. */
  #store
  #codecs
  #signal
  #ref
  #block
  #position
  #isEnded = false
  /** Ends the pause that is being made. */
  #wake

  constructor(internal, handle, described) {
    super()
    checkInternal(internal, 'Changes', 'store.changes()')
    preventClone(this, 'Changes')
    const { store, position, codecs, signal, ref } = described
    this.#handle = handle
    this.#store = store
    this.#position = position
    this.#codecs = codecs
    this.#signal = signal
    this.#ref = ref
    forgotten.register(this, handle, this)
  }

  /** Where to go on: behind the last batch that was given, or the last one of which nothing was wanted. */
  get position() {
    return this.#position
  }

  get store() {
    return this.#store
  }

  /** The next batch if it is there already. */
  async poll() {
    return this[TURN](0)
  }

  /** Ends the iteration, also one that waits. */
  close() {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#block = undefined
    this.#store = undefined
    forgotten.unregister(this)
    native.freeChanges(this.#handle)
    this.#wake?.()
  }

  get [Symbol.toStringTag]() {
    return 'Changes'
  }

  async [NEXT](end) {
    const stop = this.#signal && onAbort(this.#signal, () => this.#wake?.())
    try {
      for (let pause = SHORTEST_MS; ; pause = Math.min(2 * pause, LONGEST_MS)) {
        if (this.#isEnded) return undefined
        this.#throwIfAborted()
        const batch = this.#decoded() ?? (await this.#polled())
        const left = end - performance.now()
        if (batch !== undefined || left <= 0) return batch
        if (!this.#isEnded && !this.#signal?.aborted) await this.#sleep(Math.min(pause, left))
      }
    } finally {
      stop?.()
    }
  }

  #throwIfAborted() {
    if (!this.#signal?.aborted) return
    this.close()
    throw this.#signal.reason
  }

  /** The next of the batches that have crossed. */
  #decoded() {
    while (this.#block !== undefined && !this.#block.isEmpty) {
      const batch = this.#block.next(this.#codecs)
      this.#position = batch.position
      if (batch.changes.length > 0) return batch
    }
    return undefined
  }

  /** Lets batches cross until there is one of which something is wanted. */
  async #polled() {
    for (;;) {
      const crossed = await native.pollChanges(this.#handle)
      if (crossed === undefined || this.#isEnded || this.#signal?.aborted) return undefined
      this.#block = new Block(crossed)
      const batch = this.#decoded()
      if (batch !== undefined) return batch
    }
  }

  async #sleep(milliseconds) {
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      if (!this.#ref) timer.unref()
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = undefined
  }
}

const readPosition = (position) => (position === undefined ? undefined : readString(position, 'a position'))

/** The feed of a store that has this number. */
export function changesOf(store, number, from, options) {
  const read = readChanges(options)
  const position = readPosition(from) ?? native.position(number)
  return new Changes(INTERNAL, native.openChanges(number, position), { ...read, store, position })
}

/** The feed of a file, without its store. */
export function changes(path, from, options) {
  const file = readPath(path)
  const read = readChanges(options)
  const position = readPosition(from)
  return new Changes(INTERNAL, native.openFileChanges(file, position), { ...read, position })
}
