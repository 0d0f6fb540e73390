export { sessionStore } from './lib/express-session.js'
