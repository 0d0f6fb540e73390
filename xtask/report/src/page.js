/** Fills the page with the report that it holds. */

import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  Legend,
  LinearScale,
  Title,
  Tooltip,
} from 'chart.js'
import { memoryChart, throughputCharts } from './charts.js'
import { rows } from './figures.js'

Chart.register(BarController, BarElement, CategoryScale, Legend, LinearScale, Title, Tooltip)

const report = JSON.parse(document.getElementById('report').textContent)
const drawn = []

function describe() {
  const [first] = report.hosts
  const pairs = first.pairs.toLocaleString('en')
  const keys =
    first.keys_from === null ? `${first.key_bytes}-byte random keys` : `keys from ${first.keys_from}`
  const made = new Date(report.made_at * 1000)
  document.getElementById('about').textContent =
    `Version ${first.version}, ${pairs} pairs, ${keys}, ${first.value_bytes}-byte values, ` +
    `${made.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  document.getElementById('command').textContent = report.command
  const { processor, threads, memory_bytes, system, rust, python, node } = report.machine
  const gib = Math.ceil(memory_bytes / 2 ** 30)
  document.getElementById('machine').textContent =
    `${processor}, ${threads} hardware threads, ${gib} GiB, ${system}; ${rust}, ${python}, Node ${node}`
}

function draw() {
  const style = getComputedStyle(document.documentElement)
  Chart.defaults.color = style.getPropertyValue('--text')
  Chart.defaults.borderColor = style.getPropertyValue('--line')
  for (const chart of drawn.splice(0)) {
    chart.destroy()
  }
  fill('throughput', throughputCharts(report))
  fill('memory', [memoryChart(report)])
}

function fill(id, charts) {
  const figures = charts.map(({ title }) => {
    const figure = document.createElement('figure')
    const canvas = document.createElement('canvas')
    canvas.setAttribute('role', 'img')
    canvas.setAttribute('aria-label', `${title}; its figures are in the table below`)
    figure.append(canvas)
    return figure
  })
  document.getElementById(id).replaceChildren(...figures)
  for (const [position, { config }] of charts.entries()) {
    drawn.push(new Chart(figures[position].firstChild, config))
  }
}

function tabulate() {
  const table = document.getElementById('figures')
  for (const [position, { cells, startsHost }] of rows(report).entries()) {
    const row = table.insertRow()
    row.className = startsHost ? 'host' : ''
    for (const text of cells) {
      const cell = document.createElement(position === 0 ? 'th' : 'td')
      cell.textContent = text
      row.append(cell)
    }
  }
}

describe()
tabulate()
draw()
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw)
