// A leaderboard that is always in order: `node leaderboard.js [games]` plays some games and prints the best players.
//
// Two tables: `points` finds a player's points, `ranks` has every player under a key that sorts as the ranking does.
import { Store } from 'twindex'

const DIGITS = 10

class Leaderboard {
  #points
  #ranks

  constructor(store = new Store()) {
    this.#points = store.table('points')
    this.#ranks = store.table('ranks', { index: 'sorted' })
  }

  /** Gives a player points, and moves the player up. Returns the points that the player has now. */
  score(player, points) {
    const after = this.#points.increment(player, points)
    this.#ranks.delete(this.#rankKey(player, after - points))
    this.#ranks.insert(this.#rankKey(player, after), player)
    return after
  }

  /** The best players with their points, best first; players with the same points by name. */
  top(count) {
    const players = Array.from(this.#ranks.scan({ limit: count }), ([, player]) => player)
    return players.map((player, at) => ({ rank: at + 1, player, points: this.points(player) }))
  }

  /** The players just ahead of a player, the nearest first. */
  ahead(player, count) {
    const key = this.#rankKey(player, this.points(player))
    return Array.from(this.#ranks.scan({ lt: key, reverse: true, limit: count }), ([, other]) => other)
  }

  points(player) {
    return Number(this.#points.get(player) ?? 0)
  }

  /** More points come first, so the key counts down; within the same points the name decides. */
  #rankKey(player, points) {
    return `${String(10 ** DIGITS - 1 - points).padStart(DIGITS, '0')} ${player}`
  }
}

const board = new Leaderboard()
const players = ['ada', 'barbara', 'edsger', 'grace', 'katherine', 'margaret', 'radia']
const games = Number(process.argv[2] ?? 10_000)
for (let game = 0; game < games; game++)
  board.score(players[(game * game) % players.length], (game * 37) % 11)
console.table(board.top(3))
const last = board.top(players.length).at(-1).player
console.log(`just ahead of ${last}: ${board.ahead(last, 2).join(', ')}`)
