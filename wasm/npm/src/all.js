// What `leftout.js` leaves out.

import { cacheClass } from './cache.js'
import { ExpiringTable, openTable } from './expiring.js'
import { runTransaction } from './transaction.js'
import { openWatch, Watch } from './watch.js'

export const all = { cacheClass, runTransaction, openTable, openWatch, classes: { ExpiringTable, Watch } }
