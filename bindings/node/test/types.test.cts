// By `require` too: there is one implementation, so both kinds of import share their stores.

import twindex = require('twindex')
import keyv = require('twindex/keyv')
import level = require('twindex/level')

const users: twindex.Table = new twindex.Store().table('users')
const value: string | undefined = users.select('ada')
// @ts-expect-error a key is a string
users.insert(1, '2')

export = [value, new keyv.KeyvTwindex(), new level.TwindexLevel()]
