// Calls of the native half: its errors have their code in the first line.

import { makeError } from './shared/errors.js'

/** What became of an item: what it answered, or an error. */
function outcomeOf(one) {
  if (Array.isArray(one)) return makeError(...one)
  if (typeof one === 'boolean') return one
  return Number.isSafeInteger(Number(one)) ? Number(one) : BigInt(one)
}

function remade(error) {
  const [, code, message] = /^(TWINDEX_\w+)\n(.*)$/s.exec(error.message) ?? []
  if (code !== 'TWINDEX_PARTLY_DONE') return code === undefined ? error : makeError(code, message)
  // The outcomes are the last line.
  const end = message.lastIndexOf('\n')
  const outcomes = JSON.parse(message.slice(end)).map(outcomeOf)
  return Object.assign(makeError(code, message.slice(0, end)), { outcomes })
}

/** What a call gives at once. */
export function at(call) {
  try {
    return call()
  } catch (error) {
    throw remade(error)
  }
}

/** What a call promises. */
export async function wait(call) {
  try {
    return await call()
  } catch (error) {
    throw remade(error)
  }
}
