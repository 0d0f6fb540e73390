// The place of a store's files, in memory.
import assert from 'node:assert/strict'

/** Files in memory, as a browser's would be. `fails` makes writing fail, `failing` one step of it. */
export class Place {
  kind = 'memory'
  files = new Map()
  opened = 0
  fails = false
  failsToFlush = false
  failing
  appended
  isPrompt = true
  released = 0

  async list() {
    return [...this.files.keys()]
  }

  async read(number) {
    return this.files.get(number).slice()
  }

  create(number) {
    return this.open(number, 0, this.#fails('create'))
  }

  #fails(step) {
    if (this.failing === step) throw new Error(`no space is left to ${step}`)
  }

  async open(number, end) {
    this.files.set(number, new Uint8Array(this.files.get(number)?.subarray(0, end)))
    this.opened++
    let isClosed = false
    const fail = () => {
      if (isClosed) throw new Error('the file is closed')
      if (this.fails) throw new Error('no space is left')
    }
    return {
      append: (bytes) => {
        fail()
        this.#fails('append')
        this.files.set(number, new Uint8Array(Buffer.concat([this.files.get(number), bytes])))
        this.appended?.()
      },
      flush: () => {
        if (this.failsToFlush) throw new Error('the disk is gone')
        if (this.isPrompt) return this.#fails('flush')
        return new Promise(setImmediate).then(() => this.#fails('flush'))
      },
      discard: () => {
        fail()
        this.files.set(number, new Uint8Array(0))
        if (this.isPrompt) this.#fails('flush')
      },
      close: () => {
        isClosed = true
        this.opened--
      },
    }
  }

  async remove(number) {
    this.files.delete(number)
  }

  async destroy() {
    this.files.clear()
  }

  get bytes() {
    assert.equal(this.files.size, 1)
    return [...this.files.values()][0]
  }

  set bytes(bytes) {
    const [number] = this.files.keys()
    this.files = new Map([[number, bytes]])
  }

  get newest() {
    return this.files.get(Math.max(...this.files.keys()))
  }
}
