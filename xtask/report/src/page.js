/** Fills the page with the report that it holds. */

import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  LogarithmicScale,
  PointElement,
  Title,
  Tooltip,
} from 'chart.js'
import { chartsOf } from './charts.js'
import { GROUPS, sections } from './parts.js'
import { changesOf, tableOf } from './tables.js'
import { paramsText } from './tests.js'

Chart.register(
  BarController,
  BarElement,
  CategoryScale,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  LogarithmicScale,
  PointElement,
  Title,
  Tooltip,
)

const report = JSON.parse(document.getElementById('report').textContent)
/** Every canvas of the page with what it shows. */
const charts = []
const drawn = []

function element(name, { text, ...properties } = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  if (text !== undefined) made.textContent = text
  made.append(...children)
  return made
}

function machineText({ processor, threads, memory_bytes, system, rust, python, node }) {
  const gib = Math.ceil(memory_bytes / 2 ** 30)
  return `${processor}, ${threads} hardware threads, ${gib} GiB, ${system}; ${rust}, ${python}, Node ${node}`
}

function moment(seconds) {
  return `${new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

function describe() {
  const { version, commit, scale, made_at, command, machine, remarks } = report
  const parts = [
    `Version ${version}`,
    commit === '' ? null : `commit ${commit}`,
    `scale ${scale}`,
    moment(made_at),
  ]
  document.getElementById('about').textContent = parts.filter(part => part !== null).join(', ')
  document.getElementById('command').textContent = command
  document.getElementById('machine').textContent = machineText(machine)
  document.getElementById('remarks').replaceChildren(...remarks.map(text => element('li', { text })))
}

/** Why the columns of Redis are empty, where they are. */
function missingRedis() {
  return report.remarks.find(text => text.startsWith('Redis was not measured')) ?? null
}

function includes(section) {
  const outcomes = section.tests.flatMap(({ parts }) => parts).flatMap(part => part.outcomes)
  const list = element('dl')
  for (const { id, title, includes, has } of GROUPS) {
    const text = section.includes?.[id] ?? includes
    if (outcomes.some(has)) list.append(element('dt', { text: title }), element('dd', { text }))
  }
  if (section.published !== undefined) {
    const { document: name, machine, includes } = section.published
    list.append(
      element('dt', { text: 'Published' }),
      element('dd', { text: `${name}. Machine: ${machine}. ${includes}` }),
    )
  }
  return element('details', { open: true }, element('summary', { text: 'What each column includes' }), list)
}

function figureOf(chart) {
  const canvas = element('canvas')
  canvas.setAttribute('role', 'img')
  canvas.setAttribute('aria-label', `${chart.title}; its figures are in the table below`)
  charts.push({ canvas, config: chart.config })
  return element('figure', {}, canvas)
}

function rowOf(cells, name = 'td') {
  return element('tr', {}, ...cells.map(text => element(name, { text })))
}

function table({ spans, head, rows, foot }) {
  const top = element('tr', {}, element('th', { colSpan: 2 }))
  for (const { title, span } of spans ?? []) {
    top.append(element('th', { text: title, colSpan: span, className: 'group' }))
  }
  const heads = spans === undefined ? [rowOf(head, 'th')] : [top, rowOf(head, 'th')]
  const whole = element(
    'table',
    {},
    element('thead', {}, ...heads),
    element('tbody', {}, ...rows.map(cells => rowOf(cells))),
  )
  const scroll = element('div', { className: 'scroll' }, whole)
  if (foot !== undefined) scroll.append(element('p', { className: 'foot', text: `Operations: ${foot}.` }))
  return scroll
}

/** `missing` says why there is no column of Redis where there should be one. */
function testOf(test, missing) {
  const figures = test.parts.flatMap(part => chartsOf(test, part)).map(figureOf)
  const tables = test.parts.flatMap(part => {
    const of = paramsText(part.params)
    return [...(of === '' ? [] : [element('h4', { text: of })]), table(tableOf(test, part, missing))]
  })
  return element(
    'section',
    { id: test.id },
    element('h3', { text: test.title }),
    ...(test.about === undefined ? [] : [element('p', { text: test.about })]),
    element('div', { className: 'charts' }, ...figures),
    ...tables,
  )
}

function tell() {
  const shown = sections(report)
  document.getElementById('contents').replaceChildren(
    ...shown.map(({ title, tests: [first] }) => {
      const link = element('a', { text: title })
      link.setAttribute('href', `#${first.id}`)
      return element('li', {}, link)
    }),
  )
  document.getElementById('sections').replaceChildren(
    ...shown.map(section =>
      element(
        'section',
        {},
        element('h2', { text: section.title }),
        element('p', { className: 'question', text: section.question }),
        element('p', { text: section.about }),
        includes(section),
        // Only what was published has a part for Redis.
        ...section.tests.map(test => testOf(test, section.document === undefined ? null : missingRedis())),
      ),
    ),
  )
}

/** What changed since an older report. */
function compare() {
  if (!report.comparison) return
  const { made_at, commit, machine } = report.comparison
  const { head, rows, quiet } = changesOf(report.comparison)
  const text =
    `Beside the report of ${moment(made_at)}${commit === '' ? '' : `, commit ${commit}`}, made on ${machine}. A change ` +
    'counts where the ranges of the rounds do not overlap. Others: how many times as good the other systems were at the ' +
    'same work, in the middle, which is what the machine and its day did. ' +
    `${quiet.toLocaleString('en')} figures differ by no more than noise.`
  document
    .getElementById('comparison')
    .replaceChildren(
      element('h2', { text: 'Faster or slower' }),
      element('p', { text }),
      ...(rows.length === 0 ? [] : [table({ head, rows })]),
    )
}

function draw() {
  const style = getComputedStyle(document.documentElement)
  Chart.defaults.color = style.getPropertyValue('--text')
  Chart.defaults.borderColor = style.getPropertyValue('--line')
  for (const chart of drawn.splice(0)) {
    chart.destroy()
  }
  for (const { canvas, config } of charts) {
    // Whoever looks at the canvas can ask it for what it shows.
    canvas.chart = new Chart(canvas, config)
    drawn.push(canvas.chart)
  }
}

describe()
compare()
tell()
draw()
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw)
