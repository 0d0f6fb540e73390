// Serves this page and the package that it uses, for the browser on this machine:
//
//   node examples/browser/serve.mjs

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The folders that are served, by how their addresses begin. */
const FOLDERS = {
  '/twindex-wasm/': new URL('../../wasm/npm/', import.meta.url),
  '/': new URL('./', import.meta.url),
}
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' }

async function answer(request, response) {
  const { pathname } = new URL(request.url, 'http://localhost')
  const path = pathname.endsWith('/') ? `${pathname}index.html` : pathname
  const start = Object.keys(FOLDERS).find((folder) => path.startsWith(folder))
  const file = new URL(path.slice(start.length), FOLDERS[start])
  const type = TYPES[extname(path)]
  try {
    if (type === undefined || !file.href.startsWith(FOLDERS[start].href)) throw new Error('not served')
    const bytes = await readFile(file)
    response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(bytes)
  } catch {
    response.writeHead(404).end()
  }
}

/** Serves on this port of this machine, any free one for 0: the server. */
export async function serve(port) {
  const server = createServer(answer)
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  return server
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (!existsSync(new URL('twindex.wasm', FOLDERS['/twindex-wasm/']))) {
    console.error('The module is not built yet: npm ci --prefix wasm/npm && npm run build --prefix wasm/npm')
    process.exit(1)
  }
  const server = await serve(Number(process.env.PORT ?? 8080))
  console.log(`${fileURLToPath(new URL('./', import.meta.url))}: http://localhost:${server.address().port}/`)
}
