#!/usr/bin/env node
// The command-line tool for stores in files: `npx twindex --help`.
import { createRequire } from 'node:module'

const { runCommandLine } = createRequire(import.meta.url)('../lib/native.cjs')

process.exitCode = runCommandLine('twindex', ...process.argv.slice(2))
