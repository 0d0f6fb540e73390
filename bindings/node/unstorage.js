import { twindexDriver } from './lib/unstorage.js'

export { twindexDriver }
export default twindexDriver
