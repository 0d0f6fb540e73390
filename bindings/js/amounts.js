// The amounts of `increment`.

import { describe, makeError, rangeError, typeError } from './errors.js'

/** An amount as a bigint. */
export function readAmount(by) {
  if (typeof by !== 'bigint' && !Number.isInteger(by)) throw typeError('an amount is a whole number', by)
  const amount = BigInt(by)
  const fits = typeof by === 'bigint' ? BigInt.asIntN(64, amount) === amount : Number.isSafeInteger(by)
  if (!fits) throw rangeError(`an amount is a safe integer or a bigint of 64 bits, not ${describe(by)}`)
  return amount
}

/** That values of a codec are decimal text, which `increment` adds to. */
export function checkDecimal({ name, isDecimal }) {
  if (isDecimal) return
  throw makeError(
    'TWINDEX_TYPE',
    `increment adds to decimal text, which ${name} values are not: use values: 'int'`,
  )
}

/** A sum as a number or a bigint, like its amount. */
export const like = (by, sum) => (typeof by === 'bigint' ? sum : Number(sum))
