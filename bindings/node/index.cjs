'use strict'
const { Cursor } = require('./lib/cursor.cjs')
const { TwindexError } = require('./lib/errors.cjs')
const { Store } = require('./lib/store.cjs')
const { Table } = require('./lib/table.cjs')

module.exports = { Store, Table, Cursor, TwindexError }
