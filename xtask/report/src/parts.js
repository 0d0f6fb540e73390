/** Finds out of a report what each chart and table shows. */

import { moreIsBetter, SECTIONS } from './tests.js'

/** Who is called how, in the order of the columns. */
export const GROUPS = [
  {
    id: 'process',
    title: 'In this process',
    includes:
      'A Rust program calls a library in its own memory: no request, no other process, no network. Everybody has the ' +
      'same allocator and the same hash function.',
    has: ({ reach, host }) => reach === 'process' && host === 'rust',
  },
  {
    id: 'hosts',
    title: 'Twindex in its hosts',
    includes:
      'The same engine called from Python, from Node, and as WebAssembly in wasmtime and in Node: with what it costs to ' +
      'get a key and a value across the border of the language, one call a pair.',
    has: ({ reach, host }) => reach === 'process' && host !== 'rust',
  },
  {
    id: 'loopback',
    title: 'Over the loopback',
    includes:
      'redis-server on this machine: each operation, or each batch, is a request through the network of the system and ' +
      'a reply, and the server and its clients share the processors. It is not the same work as a call in the process, ' +
      'and no chart has both.',
    has: ({ reach }) => reach === 'loopback',
  },
]

/** The sections of which the report has results, each with its tests and their parts. */
export function sections(report) {
  return SECTIONS.map(section => ({
    ...section,
    published: (report.published ?? []).find(({ document }) => document.includes(section.document)),
    tests: section.tests
      .map(test => ({ ...test, parts: partsOf(test, report) }))
      .filter(({ parts }) => parts.length > 0),
  })).filter(({ tests }) => tests.length > 0)
}

/** The parts of a test, in each of which only `x` and the system differ. */
function partsOf(test, report) {
  const parts = new Map()
  for (const outcome of report.results.filter(({ test: id }) => id === test.id)) {
    const params = withoutX(test, outcome.params)
    const key = JSON.stringify(params)
    if (!parts.has(key)) {
      parts.set(key, { params, outcomes: [], published: [] })
    }
    parts.get(key).outcomes.push(outcome)
  }
  const published = (report.published ?? []).flatMap(({ results }) => results).filter(r => r.test === test.id)
  for (const part of parts.values()) {
    part.published = published.filter(({ params }) =>
      Object.entries(withoutX(test, params)).every(
        ([name, value]) => name === 'threads' || part.params[name] === value,
      ),
    )
    part.xs = xsOf(test, part)
  }
  return [...parts.values()]
}

/** The parameter below the charts; where there is none, a message's size, or else nothing. */
function xParam(test) {
  return test.x?.param ?? null
}

function withoutX(test, params) {
  const { [xParam(test)]: _x, ...others } = params
  return others
}

export function xOf(test, outcome) {
  return xParam(test) === null ? '' : outcome.params[xParam(test)]
}

/** The values below the charts: numbers in order, words in the order in which they were measured. */
function xsOf(test, { outcomes }) {
  const values = [...new Set(outcomes.map(outcome => xOf(test, outcome)))]
  return values.every(value => typeof value === 'number') ? values.sort((a, b) => a - b) : values
}

/** The name of a column or a line. */
export function nameOf({ system, host }) {
  return host === undefined || host === 'rust' ? system : `${system}, ${host}`
}

/** The names of a group's systems, Twindex first. */
export function namesOf(group, outcomes) {
  const names = [...new Set(outcomes.filter(group.has).map(nameOf))]
  return names.sort((a, b) => Number(b.startsWith('twindex')) - Number(a.startsWith('twindex')))
}

/** The figure of a named system at a place, or nothing. */
export function figureAt(test, outcomes, name, x, figure) {
  return outcomes.find(outcome => nameOf(outcome) === name && xOf(test, outcome) === x)?.figures[figure]
}

/** How many times as good as the best other system in the process Twindex is; nothing where it is alone. */
export function toTheBest(test, outcomes, x, figure) {
  const [group] = GROUPS
  const own = figureAt(test, outcomes.filter(group.has), 'twindex', x, figure)?.median
  const others = namesOf(group, outcomes)
    .filter(name => name !== 'twindex')
    .map(name => ({ name, value: figureAt(test, outcomes, name, x, figure)?.median }))
    .filter(({ value }) => value > 0)
  if (!(own > 0) || others.length === 0) {
    return null
  }
  const more = moreIsBetter(figure)
  const best = others.reduce((best, other) => (other.value > best.value === more ? other : best))
  return { name: best.name, times: more ? own / best.value : best.value / own }
}
