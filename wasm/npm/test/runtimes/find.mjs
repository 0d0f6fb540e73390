// Where the program of a runtime is. There is a package for each platform, of which npm installs the one that fits: nothing is
// printed where there is none, or where it could not be downloaded.
//
//   node test/runtimes/find.mjs node|deno|bun

import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// A test asks no server for newer versions.
process.env.DENO_NO_UPDATE_CHECK = '1'

const installed = fileURLToPath(new URL('node_modules/', import.meta.url))
const PROGRAMS = {
  node: ['', 'bin/node'],
  deno: ['@deno', 'deno'],
  bun: ['@oven', 'bin/bun'],
  workerd: ['@cloudflare', 'bin/workerd'],
}

/** The path of a program that runs on this machine, or undefined. */
export function find(name) {
  const [scope, program] = PROGRAMS[name]
  const suffix = process.platform === 'win32' ? '.exe' : ''
  return list(join(installed, scope))
    .map((platform) => join(installed, scope, platform, program + suffix))
    .find((path) => spawnSync(path, ['--version']).status === 0)
}

function list(folder) {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (error.code === 'ENOENT') return []
    throw error
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(find(process.argv[2]) ?? '')
