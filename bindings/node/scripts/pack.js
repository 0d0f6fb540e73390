// Runs before `npm pack`, which packs the module that was built on this machine: the package works on such a machine alone.
// release.js lays out the published packages, one for each platform.
import { existsSync } from 'node:fs'
import { share } from '../../js/share.js'
import { built, shared } from './platform.js'

share(shared)
const { platform } = await import('../lib/shared/platform.js')
if (existsSync(built)) {
  console.error(
    `twindex: this package has the native module for ${platform()}, and no other. For all platforms: node scripts/release.js FOLDER`,
  )
} else {
  console.error(
    'twindex: the native module is not built yet, without which the package cannot be installed: npm run build',
  )
  process.exitCode = 1
}
