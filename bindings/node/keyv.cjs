'use strict'
module.exports = require('./lib/keyv.cjs')
