// Names of version 0.1, and of libraries that programs come from: each fails with an error that gives ours.

import { describe, rangeError } from './errors.js'

/** For an option ours, and what it takes. */
const OPTIONS = {
  __proto__: null,
  allowStale: ['staleFor', ' in milliseconds'],
  dispose: ['onEvict', ''],
  maxSize: ['capacity', ' in bytes of memory'],
  store: ['shared', ', a name by which all threads find one cache'],
  tlsCertificate: ['tlsIdentity', ': [certificate, key]'],
  tlsKey: ['tlsIdentity', ': [certificate, key]'],
}

const VERBS = {
  count: 'size, which clusters await',
  expire: 'touch(key, ttl)',
  scanPrefix: 'prefix(prefix)',
  update: 'replace',
  updateMany: 'replaceMany(pairs)',
  walk: 'entries()',
}

/** The error of an option that `what` has not. */
export function unknownOption(name, what, names) {
  const [ours, more] = OPTIONS[name] ?? []
  const has = names.includes(ours) ? `use ${ours}${more}` : `it has ${names.join(', ')}`
  return rangeError(`${what} has no option ${describe(name)}, ${has}`)
}

/** Has a class refuse old verbs. */
export function refuseOldVerbs({ prototype }) {
  for (const [old, ours] of Object.entries(VERBS)) {
    const value = () => {
      throw rangeError(`there is no ${old}(), use ${ours}`)
    }
    Object.defineProperty(prototype, old, { value, configurable: true, writable: true })
  }
}
