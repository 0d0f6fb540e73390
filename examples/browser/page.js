// What a person sees. All work, the store's too, is in the worker.

const STEPS = ['Hash write', 'Hash read', 'Sorted write', 'Sorted scan']
const PLACES = { opfs: 'a private file of this browser', indexeddb: 'the IndexedDB of this browser' }
/** The chart: from one bar to the next, and what stands before each. */
const ROW_REM = 2.6
const LABEL_REM = 10

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
    const count = runs.length === 1 ? '1 run' : `${runs.length} runs`
    status.textContent = runs.length === 0 ? 'No runs yet' : `${count} kept in ${PLACES[storage]}`
  },
  waiting() {
    status.textContent = 'This page is open in another tab, which has the results. Close that one to go on here.'
  },
  failed({ message, isOpen }) {
    status.textContent = `That failed: ${message}`
    isBusy(!isOpen)
  },
}
worker.onmessage = ({ data: [what, details] }) => messages[what](details)
worker.onerror = () => messages.failed({ message: 'the worker could not be loaded', isOpen: false })

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
  document.querySelector('section').hidden = runs.length === 0
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
    ...speeds.flatMap((speed, step) => {
      const [top, line] = [`${ROW_REM * step}rem`, `${ROW_REM * step + 1.4}rem`]
      const bar = make('rect', { x: `${LABEL_REM + 0.5}rem`, y: top, height: '2rem' })
      bar.style.width = `calc((100% - ${LABEL_REM + 0.5}rem) * ${speed / most})`
      return [
        make('text', { x: 0, y: line }, STEPS[step]),
        make('text', { x: `${LABEL_REM}rem`, y: line, 'text-anchor': 'end' }, speed.toFixed(2)),
        bar,
      ]
    }),
  )
}
