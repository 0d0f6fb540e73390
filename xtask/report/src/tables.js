/** The tables of a report, as rows of cells. */

import { figureAt, GROUPS, nameOf, namesOf, toTheBest, xOf } from './parts.js'
import { moreIsBetter, paramsText, short, unitOf } from './tests.js'

/**
 * The table of one part: a row for each figure and each value of what is varied, a column for each system. A column
 * group without systems is left out, but for that of the loopback where `missing` says why it is empty.
 */
export function tableOf(test, part, missing) {
  const groups = GROUPS.map(group => ({
    title: group.title,
    id: group.id,
    names: namesOf(group, part.outcomes),
  }))
  const published = [...new Set(part.published.map(nameOf))]
  const hasBest = (id, names) => id === 'process' && names.length > 1 && test.compared !== false
  const columns = groups.flatMap(({ id, names }) => {
    if (id === 'loopback' && names.length === 0 && missing !== null) {
      return [{ name: missing, value: () => '' }]
    }
    const own = names.map(name => ({
      name,
      value: (x, figure) => cell(test, part.outcomes, name, x, figure),
    }))
    const best = {
      name: 'to the best',
      value: (x, figure) => ratio(toTheBest(test, part.outcomes, x, figure)),
    }
    return hasBest(id, names) ? [own[0], best, ...own.slice(1)] : own
  })
  columns.push(
    ...published.map(name => ({
      name,
      value: (x, figure) => short(publishedAt(test, part.published, name, x, figure)),
    })),
  )
  const spans = groups.map(({ title, id, names }) => {
    const extra = hasBest(id, names) ? 1 : 0
    const why = id === 'loopback' && names.length === 0 && missing !== null ? 1 : 0
    return { title, span: names.length + extra + why }
  })
  spans.push({ title: 'Published, on another machine', span: published.length })
  const xs = [...new Set([...part.xs, ...part.published.map(outcome => xOf(test, outcome))])].filter(
    x => x !== undefined,
  )
  if (xs.every(x => typeof x === 'number')) {
    xs.sort((a, b) => a - b)
  }
  const all = Object.entries(test.figures)
    .flatMap(([figure, title]) =>
      xs.map(x => [
        `${title}, ${unitOf(figure)}`,
        typeof x === 'number' ? x.toLocaleString('en') : x,
        ...columns.map(({ value }) => value(x, figure)),
      ]),
    )
    .filter(([, , ...cells]) => cells.some(text => text !== ''))
  const own = columns.length - published.length
  const isMeasured = ([, , ...cells]) => cells.slice(0, own).some(text => text !== '')
  const rows = all.some(isMeasured) ? all.filter(isMeasured) : all
  return {
    spans: spans.filter(({ span }) => span > 0),
    head: ['', test.x?.label ?? '', ...columns.map(({ name }) => name)],
    rows,
    foot: [
      operations(part),
      ...beside(
        test,
        published,
        all.filter(row => !rows.includes(row)),
        own,
      ),
    ]
      .filter(text => text !== '')
      .join('. '),
  }
}

/** What was published of what was not measured here: a line for each figure, not rows that are all but empty. */
function beside(test, published, rows, own) {
  return [...new Set(rows.map(([title]) => title))].map(title => {
    const texts = rows
      .filter(row => row[0] === title)
      .map(([, x, ...cells]) => [x, cells.slice(own).filter(Boolean).join(', ')].filter(Boolean).join(': '))
    const by = test.x === undefined ? '' : ` by ${test.x.label}`
    return `Published beside that, ${published.join(', ')}, ${title}${by}: ${texts.join('; ')}`
  })
}

function publishedAt(test, published, name, x, figure) {
  const found = published.find(outcome => nameOf(outcome) === name && (xOf(test, outcome) ?? '') === x)
  return found?.figures[figure]
}

/** The median, and by how much of it the rounds lie apart. */
function cell(test, outcomes, name, x, figure) {
  const found = figureAt(test, outcomes, name, x, figure)
  if (found === undefined) {
    return ''
  }
  const { median, least, greatest, rounds } = found
  const apart = rounds > 1 && median > 0 ? ` ±${Math.round((50 * (greatest - least)) / median)} %` : ''
  return `${short(median)}${apart}`
}

function ratio(best) {
  return best === null ? '' : `${best.times.toFixed(2)}x ${best.name}`
}

/** How many operations each system did, in words. */
function operations({ outcomes }) {
  const counts = new Map()
  for (const outcome of outcomes) {
    const name = nameOf(outcome)
    const [least, most] = counts.get(name) ?? [outcome.operations, outcome.operations]
    counts.set(name, [Math.min(least, outcome.operations), Math.max(most, outcome.operations)])
  }
  const byCount = new Map()
  for (const [name, [least, most]] of counts) {
    const text =
      least === most
        ? most.toLocaleString('en')
        : `${least.toLocaleString('en')} to ${most.toLocaleString('en')}`
    byCount.set(text, [...(byCount.get(text) ?? []), name])
  }
  return [...byCount].map(([text, names]) => `${text}: ${names.join(', ')}`).join('; ')
}

/** The table of a comparison with an older report: what changed by more than noise, Twindex first. */
export function changesOf({ changes }) {
  const shown = changes.filter(({ verdict }) => verdict !== 'noise')
  const isOwn = ({ outcome }) => outcome.system === 'twindex'
  shown.sort((a, b) => Number(isOwn(b)) - Number(isOwn(a)) || a.better - b.better)
  const rows = shown.map(({ outcome, figure, then, now, better, others, verdict }) => [
    nameOf(outcome),
    [outcome.test, paramsText(outcome.params)].filter(Boolean).join(', '),
    figure.replaceAll('_', ' '),
    `${short(then.median)} (${short(then.least)} to ${short(then.greatest)})`,
    `${short(now.median)} (${short(now.least)} to ${short(now.greatest)})`,
    `${better.toFixed(2)}x`,
    others === null ? '' : `${others.toFixed(2)}x`,
    { better: moreIsBetter(figure) ? 'faster' : 'less', worse: moreIsBetter(figure) ? 'slower' : 'more' }[
      verdict
    ] ?? 'one round',
  ])
  const head = ['System', 'Test', 'Figure', 'Then', 'Now', 'Times as good', 'Others', '']
  return { head, rows, quiet: changes.length - shown.length }
}
