// What Bun needs to run the tests that Node and Deno run by their flags.
import { gc, plugin } from 'bun'

globalThis.gc = () => gc(true)

plugin({
  name: 'the tests of the Node package run on this one',
  setup: (build) =>
    build.module('twindex', async () => ({
      exports: await import('../shared/twindex.js'),
      loader: 'object',
    })),
})
