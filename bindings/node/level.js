import level from './level.cjs'

export const { TwindexLevel } = level
