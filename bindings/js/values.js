// Values in values: which of them a codec takes. Nothing is converted with loss: what would be read back as something else is
// refused, with its place and its class.

import { describe, encodingError, makeError } from './errors.js'

/** Values in values, so deep and no deeper: the stack is not endless, and Python reads no deeper JSON. */
export const DEPTH = 512

const mapSize = Object.getOwnPropertyDescriptor(Map.prototype, 'size').get

/** Whether it is a Map, of this realm or another one. */
export function isMap(value) {
  try {
    mapSize.call(value)
    return true
  } catch {
    return false
  }
}

/** Whether an object has properties and nothing else, in this realm or another one, as that of a test in Jest. */
export function isPlain(value) {
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) {
    if (Object.getPrototypeOf(prototype) !== null || !Object.hasOwn(prototype, 'isPrototypeOf')) return false
  }
  return Object.getOwnPropertySymbols(value).length === 0
}

/** Whether an array has nothing but items: not as that of a match, whose properties would be lost. */
export function hasOnlyItems(array) {
  // Their values, since to make the names of all items takes eight times as long.
  return Object.values(array).length <= array.length && Object.getOwnPropertySymbols(array).length === 0
}

function classOf(value) {
  const prototype = Object.getPrototypeOf(value)
  if (prototype === null || isPlain(value)) return undefined
  const Class = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value
  const name = typeof Class === 'function' && Object.getOwnPropertyDescriptor(Class, 'name')?.value
  return typeof name === 'string' && name !== '' && name !== 'Object' ? name : undefined
}

/** A value of which the user's code runs anyway, for a message: by its class, where it has one. */
export function describeClass(value) {
  if (typeof value === 'symbol') return 'a symbol'
  if (Object.is(value, -0)) return '-0'
  if (typeof value !== 'object' || value === null) return describe(value)
  if (Array.isArray(value)) {
    if (hasOnlyItems(value)) return describe(value)
    const [symbol] = Object.getOwnPropertySymbols(value)
    return `an array with the property ${symbol === undefined ? describe(Object.keys(value).at(-1)) : String(symbol)}`
  }
  const name = classOf(value)
  const shown = name === undefined ? describe(value) : `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`
  return typeof value.then === 'function' ? `${shown} (await it first)` : shown
}

const NAME = /^[A-Za-z_$][\w$]*$/
/** A message shows so much of a place. */
const SHOWN_PLACE = 200

/** What an object, array or Map has in it, each with its place. */
function* contents(value, drops) {
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) yield [value[at], `[${at}]`]
  } else if (isMap(value)) {
    for (const [key, each] of value) {
      yield [key, `.keys(), at ${describe(key)}`]
      yield [each, `.get(${describe(key)})`]
    }
  } else {
    for (const [name, each] of Object.entries(value)) {
      if (each !== undefined || !drops)
        yield [each, NAME.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`]
    }
  }
}

/** The first value in a value that is a problem, with its place. `outer` has what it is in. */
function find(value, rules, place, outer) {
  if (outer.includes(value)) return { value, place, problem: '', isCircle: true }
  if (outer.length > DEPTH) return { value, place, problem: `a value is at most ${DEPTH} deep, not with` }
  const problem = rules.problemOf(value)
  if (problem !== undefined) return { value, place, problem }
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return undefined
  const around = [...outer, value]
  for (const [each, at] of contents(value, rules.drops)) {
    const found = find(each, rules, place + at, around)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * The error about a value that a codec does not take whole. `rules.problemOf(value)` says for each value in it whether that is
 * one, with no regard to what is in it: `undefined` for none, or what is wrong, with the value to follow; where it is `''`, the
 * codec has no such type. `rules.drops` is whether properties that are `undefined` are none.
 */
export function refusal(root, format, rules) {
  // A value that says another thing each time that it is asked is none.
  const found = find(root, rules, '', []) ?? { value: root, place: '', problem: '' }
  const { value, place, problem } = found
  const at = place === '' ? '' : ` at ${place.replace(/^\./, '').slice(0, SHOWN_PLACE)}`
  const shown = `${describeClass(value)}${at}${found.isCircle ? ', which contains itself' : ''}`
  if (problem !== '') return encodingError(`${problem} ${shown}`)
  return makeError(
    'TWINDEX_TYPE',
    `a value of this table must be one that ${format} can encode, not ${shown}`,
  )
}
