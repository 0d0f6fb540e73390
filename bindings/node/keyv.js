import { KeyvTwindex } from './lib/keyv.js'

export { KeyvTwindex }
export default KeyvTwindex
