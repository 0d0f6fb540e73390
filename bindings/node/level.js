export { TwindexLevel } from './lib/level.js'
