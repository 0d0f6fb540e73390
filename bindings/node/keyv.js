import keyv from './keyv.cjs'

export const { KeyvTwindex } = keyv
export default KeyvTwindex
