/**
 * A module of this package, for runtimes and bundlers that compile `.wasm` files themselves, such as Cloudflare Workers. Pass it to
 * `load`.
 */
import type { CompiledModule } from './index.js'

declare const module: CompiledModule
export default module
