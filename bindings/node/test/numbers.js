/** Numbers below `end` that look random, the same ones for a seed. */
export function randomFrom(seed) {
  let state = seed
  return (end) => {
    state = (state + 0x6d2b79f5) | 0
    let word = Math.imul(state ^ (state >>> 15), 1 | state)
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word
    return ((word ^ (word >>> 14)) >>> 0) % end
  }
}
