// Objects of this package stay in their thread.

const OF_STORES = "share a store between workers with new Store({ shared: 'name' }) or open(path): it"
const OF_CACHES = "share one between workers with new Cache({ shared: 'name' }): it"

export const reasons = Object.fromEntries(
  ['Store', 'Table', 'Cache', 'Cursor', 'Batch', 'Changes', 'Watch', 'Iterator'].map((name) => [
    name,
    Symbol(`a Twindex ${name} stays in its thread; ${name === 'Cache' ? OF_CACHES : OF_STORES}`),
  ]),
)

/**
 * Makes structuredClone and postMessage refuse the object. By nature they would pass an empty object on; the one thing
 * that they always refuse, and name in their DataCloneError, is a symbol as the value of an enumerable property.
 */
export function preventClone(object, name) {
  Object.defineProperty(object, 'uncloneable', { value: reasons[name], enumerable: true })
}
