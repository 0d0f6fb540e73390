// Tables in a cluster are in a package of their own.

/** Connects to a Valkey or Redis Cluster, by the package `@twindex/cluster`. */
export async function connect(url, options) {
  let cluster
  try {
    cluster = await import('@twindex/cluster')
  } catch (cause) {
    if (cause.code !== 'ERR_MODULE_NOT_FOUND') throw cause
    const message = 'tables in a cluster are in a package of their own: npm install @twindex/cluster'
    throw Object.assign(new Error(message, { cause }), { code: cause.code })
  }
  return cluster.connect(url, options)
}
