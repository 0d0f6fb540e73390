/**
 * A module of this package, where a runtime or a bundler compiles `.wasm` files itself, as Cloudflare Workers do:
 * `load(module)` makes the classes of it.
 */
import type { CompiledModule } from './index.js'

declare const module: CompiledModule
export default module
