// What a person sees. All work, the store's too, is in the worker.

const STEPS = ['Hash write', 'Hash read', 'Sorted write', 'Sorted scan']
const WIDTH = 100
const ROW = 2.6

const form = document.querySelector('form')
const status = document.querySelector('[role=status]')
const progress = document.querySelector('progress')
const worker = new Worker('worker.js', { type: 'module' })

const isBusy = (busy) => {
  for (const control of form.elements) control.disabled = busy
}
isBusy(true)

const messages = {
  progress({ step, done }) {
    status.textContent = STEPS[step]
    progress.value = (step + done) / STEPS.length
  },
  results({ runs, storage }) {
    show(runs)
    isBusy(false)
    progress.value = runs.length === 0 ? 0 : 1
    status.textContent = `${runs.length} ${runs.length === 1 ? 'run' : 'runs'} kept in ${storage}`
  },
  failed({ message }) {
    status.textContent = message
  },
}
worker.onmessage = ({ data: [what, details] }) => messages[what](details)

form.onsubmit = (event) => {
  event.preventDefault()
  isBusy(true)
  worker.postMessage(['run', Number(form.elements.pairs.value)])
}
form.elements.forget.onclick = () => {
  isBusy(true)
  worker.postMessage(['forget'])
}

function show(runs) {
  const rows = runs.map(({ when, pairs, speeds }) => {
    const row = document.createElement('tr')
    const cells = [
      new Date(when).toLocaleString(),
      pairs.toLocaleString(),
      ...speeds.map((speed) => speed.toFixed(2)),
    ]
    for (const text of cells) row.insertCell().textContent = text
    return row
  })
  document.querySelector('tbody').replaceChildren(...rows)
  draw(runs[0]?.speeds ?? [])
}

/** A bar for each step, as long as it was fast. */
function draw(speeds) {
  const svg = document.querySelector('svg')
  const make = (name, attributes, text = '') => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name)
    for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
    element.textContent = text
    return element
  }
  const most = Math.max(...speeds)
  svg.replaceChildren(
    ...speeds.flatMap((speed, step) => [
      make('text', { x: 0, y: `${ROW * step + 1.4}rem` }, STEPS[step]),
      make('rect', { x: '16%', y: `${ROW * step}rem`, width: `${(speed / most) * (WIDTH - 30)}%`, height: '2rem' }),
      make(
        'text',
        { x: `${17 + (speed / most) * (WIDTH - 30)}%`, y: `${ROW * step + 1.4}rem` },
        speed.toFixed(2),
      ),
    ]),
  )
}
