// The native half: built here, or in the package for this platform, which npm installs beside this one.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { platform } from './shared/platform.js'

const MODULE = 'twindex-cluster.node'

const load = createRequire(import.meta.url)

function find() {
  const built = fileURLToPath(new URL(`../${MODULE}`, import.meta.url))
  if (existsSync(built)) return built
  const name = `@twindex/cluster-${platform()}`
  try {
    return load.resolve(`${name}/${MODULE}`)
  } catch (cause) {
    const message = `@twindex/cluster has no native module here: npm installs it as the optional package ${name} where there is one`
    throw Object.assign(new Error(message, { cause }), { code: cause.code })
  }
}

export const native = load(find())
