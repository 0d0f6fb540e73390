// Copies what all packages share into lib/shared. The package is whole then.
import { copyFileSync, cpSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))

export function share() {
  rmSync(at('../lib/shared'), { recursive: true, force: true })
  cpSync(at('../../../bindings/js'), at('../lib/shared'), { recursive: true })
  copyFileSync(at('../../../bindings/node/lib/platform.js'), at('../lib/shared/platform.js'))
}
