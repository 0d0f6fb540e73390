// Calls of the native half: its errors have their code in the first line.

import { makeError } from './shared/errors.js'

function remade(error) {
  const [, code, message] = /^(TWINDEX_\w+)\n(.*)$/s.exec(error.message) ?? []
  return code === undefined ? error : makeError(code, message)
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
