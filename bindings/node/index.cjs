'use strict'
const { Batch } = require('./lib/batch.cjs')
const { Cursor } = require('./lib/cursor.cjs')
const { TwindexError } = require('./lib/errors.cjs')
const { check, recover } = require('./lib/files.cjs')
const { Store, open, openAsync } = require('./lib/store.cjs')
const { Table } = require('./lib/table.cjs')

module.exports = { open, openAsync, check, recover, Store, Table, Batch, Cursor, TwindexError }
