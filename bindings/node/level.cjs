'use strict'
module.exports = require('./lib/level.cjs')
