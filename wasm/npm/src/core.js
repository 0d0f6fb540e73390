// One instance of the core module: its memory, the buffer through which bytes go in, and its answers.

import { makeError } from './shared/errors.js'

const ABI_VERSION = 1

/** The length that stands for an absent value. */
export const ABSENT = 0xffff_ffff

/** The input buffer has this many bytes unless an argument needs more. */
const INPUT_BYTES = 64 * 1024
/** One that grew past this is given back when the next argument does not need it. */
const KEEP_BYTES = 1024 * 1024
/** The module's addresses have 32 bits. */
const MOST_BYTES = 2 ** 32 - 1

const decoder = new TextDecoder()

/** Calls `close` for what is forgotten, where the runtime says that. */
const finalization = (close) =>
  globalThis.FinalizationRegistry ? new FinalizationRegistry(close) : { register() {}, unregister() {} }

export class Core {
  /** Closes what JavaScript has forgotten. A handle that is closed already is never another's, so that is harmless. */
  forgotten = finalization((handle) => this.exports.twindex_close(handle))
  /** Where the input buffer is. */
  input = 0
  /** The memory from there on. */
  inputBytes
  /** Gets what a call has changed in a store that is kept or watched, as a record, and the store's handle. */
  onRecord
  /** Gets the handle of a store that is closed. */
  onClose
  /** What opens tables and watches. */
  openTable
  openWatch
  /** Why a store that is kept takes no writes any more. */
  failure

  #answer
  #inputLength = 0
  #isSeeded = false
  #now = 0

  constructor(instance) {
    this.exports = instance.exports
    if (this.exports.twindex_abi_version?.() !== ABI_VERSION) {
      throw new TypeError(`no module of Twindex ${ABI_VERSION}`)
    }
    this.#answer = (this.exports.twindex_answer() >>> 0) / 4
    this.refresh()
    this.room(0, INPUT_BYTES)
  }

  /** Makes new views of the memory where it has grown, which takes it from the old ones. */
  refresh() {
    if (this.bytes?.length) return
    const { buffer } = this.exports.memory
    this.bytes = new Uint8Array(buffer)
    this.words = new Uint32Array(buffer)
    this.view = new DataView(buffer)
    this.inputBytes = new Uint8Array(buffer, this.input)
  }

  /** The status of a call, or the error that it stands for. */
  status(status) {
    this.refresh()
    if (this.words[this.#answer + 5] !== 0) this.onRecord(this.takeRecord(), this.words[this.#answer + 6])
    if (status < 0) throw this.#error()
    return status
  }

  /** The record of the last call; `undefined` where there is none. */
  takeRecord() {
    this.refresh()
    const [at, length] = this.words.subarray(this.#answer + 4, this.#answer + 6)
    return length === 0 ? undefined : this.bytes.slice(at, at + length)
  }

  #error() {
    this.exports.twindex_last_error()
    this.refresh()
    const at = this.answerAt
    const codeEnd = at + 8 + this.view.getUint32(at, true)
    const code = decoder.decode(this.bytes.subarray(at + 8, codeEnd))
    const text = decoder.decode(this.bytes.subarray(codeEnd, codeEnd + this.view.getUint32(at + 4, true)))
    return code === 'TWINDEX_LOG_FAILED' && this.failure !== undefined ? this.failure : makeError(code, text)
  }

  /** Has keys hashed by a secret. Just before the first ones, since some runtimes have nothing random before the first request. */
  seed() {
    if (this.#isSeeded) return
    this.exports.twindex_seed(crypto.getRandomValues(new BigUint64Array(1))[0])
    this.#isSeeded = true
  }

  /** Gives the module the time, where it is another than last time. */
  tick() {
    const now = Date.now()
    if (now !== this.#now) this.exports.twindex_set_time?.(now) // the smallest module has no times
    this.#now = now
  }

  // --- bytes in

  /** Makes room for `bytes` in the input buffer from `offset` on, and keeps what is before that. */
  room(offset, bytes) {
    this.refresh() // a call without a status, as that of the time, may have grown the memory
    const needed = offset + bytes
    const isTooLarge = offset === 0 && this.#inputLength > KEEP_BYTES && bytes <= INPUT_BYTES
    if (needed <= this.#inputLength && !isTooLarge) return
    // A block that is packed item by item grows by doubling.
    const wanted = Math.max(INPUT_BYTES, offset === 0 ? needed : 2 * needed)
    if (wanted > MOST_BYTES) throw makeError('TWINDEX_MEMORY_LIMIT', `a module has no ${needed} bytes`)
    const input = this.exports.twindex_alloc(wanted) >>> 0
    this.refresh()
    if (input === 0) throw this.#error()
    this.bytes.copyWithin(input, this.input, this.input + offset)
    if (this.input !== 0) this.exports.twindex_free(this.input)
    this.input = input
    this.inputBytes = this.bytes.subarray(input)
    this.#inputLength = wanted
  }

  // --- bytes out

  /** Where the bytes of the last answer are. */
  get answerAt() {
    return this.words[this.#answer]
  }

  get answerLength() {
    return this.words[this.#answer + 1]
  }

  /** The number of the last answer. */
  get answerInteger() {
    return this.view.getBigInt64(this.#answer * 4 + 8, true)
  }

  /** The number of the last answer, which counts something. */
  get answerCount() {
    return this.words[this.#answer + 2] + this.words[this.#answer + 3] * 2 ** 32
  }

  /** A copy of the bytes of the last answer. */
  answerBytes() {
    return this.bytes.slice(this.answerAt, this.answerAt + this.answerLength)
  }

  /** The numbers of 8 bytes of the last answer. */
  answerFigures() {
    const at = (figure) => Number(this.view.getBigInt64(this.answerAt + 8 * figure, true))
    return Array.from({ length: this.answerLength / 8 }, (_, figure) => at(figure))
  }

  /** The bytes of the last answer, one for each outcome, as booleans. */
  answerOutcomes() {
    const outcomes = []
    const end = this.answerAt + this.answerLength
    for (let at = this.answerAt; at < end; at++) outcomes.push(this.bytes[at] === 1)
    return outcomes
  }
}
