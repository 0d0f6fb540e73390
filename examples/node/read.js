import { open } from 'twindex'

const store = await open('events.twx')
const events = store.table('events')
console.log(events.size, 'pairs, the last one is', events.last())
