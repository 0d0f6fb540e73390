/** The charts of a report, as Chart.js takes them. No colour of the page is in them: a page sets its own. */

import { figureAt, GROUPS, namesOf } from './parts.js'
import { paramsText, short, unitOf } from './tests.js'

/** Told apart by colour-blind readers too, on a light and on a dark ground. Twindex has the first. */
const COLOURS = [
  '#3d85c6',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#8c8cd9',
  '#d55e00',
  '#7f9f3f',
  '#999999',
  '#b07aa1',
  '#c7a500',
]

/** Each system has one colour in all charts. */
const SYSTEMS = [
  ['twindex', 'twindex, python'],
  ['hashbrown', 'btreemap', 'redis', 'twindex, node', 'quick_cache', 'no work'],
  ['sharded', 'btree-rwlock', 'twindex, wasmtime', 'moka'],
  ['papaya', 'tree-index', 'scc-tree', 'twindex, wasm-node', 'mini-moka'],
  ['scc', 'masstree', 'schnellru'],
  ['dashmap', 'skiplist', 'twindex, rust'],
  ['indexset'],
  ['blart'],
  ['lmdb'],
]

function colourOf(name, position) {
  const place = SYSTEMS.findIndex(names => names.includes(name))
  return COLOURS[(place < 0 ? position : place) % COLOURS.length]
}

/** One chart for each group of systems and each figure of a part that has any. */
export function chartsOf(test, part) {
  if (test.charted !== undefined && !test.charted(part.params)) {
    return []
  }
  return GROUPS.flatMap(group =>
    Object.entries(test.figures)
      .map(([figure, title]) => chartOf(test, part, group, figure, title))
      .filter(chart => chart !== null),
  )
}

function chartOf(test, part, group, figure, title) {
  const outcomes = part.outcomes.filter(group.has)
  const names = namesOf(group, outcomes).filter(name =>
    part.xs.some(x => figureAt(test, outcomes, name, x, figure) !== undefined),
  )
  if (names.length === 0) {
    return null
  }
  const alone = test.x === undefined
  const isBars = alone || test.bars === true || part.xs.length === 1
  const value = (name, x) => figureAt(test, outcomes, name, x, figure)?.median ?? null
  const of = paramsText(part.params)
  return {
    title: `${test.title}: ${title}${of === '' ? '' : `, ${of}`}. ${group.title}`,
    group: group.id,
    config: {
      type: isBars ? 'bar' : 'line',
      data: {
        labels: alone ? names : part.xs.map(x => (typeof x === 'number' ? x.toLocaleString('en') : x)),
        datasets: alone
          ? [
              {
                label: title,
                data: names.map(name => value(name, part.xs[0])),
                backgroundColor: names.map(colourOf),
              },
            ]
          : names.map((name, position) => ({
              label: name,
              data: part.xs.map(x => value(name, x)),
              backgroundColor: colourOf(name, position),
              borderColor: colourOf(name, position),
              borderWidth: isBars ? 0 : name.startsWith('twindex') ? 3 : 1.5,
              pointRadius: 3,
              spanGaps: true,
            })),
      },
      options: options(test, figure, [title, [of, group.title].filter(Boolean).join(', ')], alone),
    },
  }
}

function options(test, figure, title, alone) {
  const isLog = test.log === true && !(test.linear ?? []).includes(figure)
  const y = { title: axis(unitOf(figure)), ticks: { callback: value => short(value) } }
  return {
    responsive: true,
    maintainAspectRatio: false,
    animation: false,
    scales: {
      x: { title: axis(test.x?.label ?? '') },
      y: isLog ? { ...y, type: 'logarithmic' } : { ...y, beginAtZero: true },
    },
    plugins: {
      title: { display: true, text: title },
      legend: { display: !alone, position: 'bottom', labels: { boxWidth: 12 } },
      tooltip: {
        callbacks: { label: item => `${item.dataset.label}: ${short(item.raw)} ${unitOf(figure)}` },
      },
    },
  }
}

function axis(text) {
  return { display: text !== '', text }
}
