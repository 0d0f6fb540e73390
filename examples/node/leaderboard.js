// A leaderboard that is always in order: `node leaderboard.js [games]` plays some games and prints the best players.
//
// Two tables: `points` finds a player's points, `ranks` has every player under a key that sorts as the ranking does: more points come
// first, within the same points the name decides.
import { Store } from 'twindex'

class Leaderboard {
  constructor(store = new Store()) {
    this.points = store.table('points', { values: 'int' })
    this.ranks = store.table('ranks', { index: 'sorted', keys: 'tuple' })
  }

  /** Gives a player points, and moves the player up. Returns the points that the player has now. */
  score(player, points) {
    const after = this.points.increment(player, points)
    this.ranks.delete([points - after, player])
    this.ranks.insert([-after, player], '')
    return after
  }

  /** The best players with their points, best first. */
  top(count) {
    const ranks = Array.from(this.ranks.scan({ limit: count }))
    return ranks.map(([[points, player]], at) => ({ rank: at + 1, player, points: -points }))
  }

  /** The players just ahead of a player, the nearest first. */
  ahead(player, count) {
    const lt = [-(this.points.get(player) ?? 0), player]
    return Array.from(this.ranks.scan({ lt, reverse: true, limit: count }), ([[, other]]) => other)
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
