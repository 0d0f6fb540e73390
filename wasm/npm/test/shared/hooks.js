const url = new URL('./twindex.js', import.meta.url).href

export const resolve = (specifier, context, next) =>
  specifier === 'twindex' ? { url, shortCircuit: true } : next(specifier, context)
