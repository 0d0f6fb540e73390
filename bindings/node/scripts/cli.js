#!/usr/bin/env node
// The command-line tool for stores in files: `npx twindex --help`.
import { native } from '../lib/native.js'

process.exitCode = native.runCommandLine('twindex', ...process.argv.slice(2))
