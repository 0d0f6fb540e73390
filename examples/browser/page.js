// What a person sees. All work, the store's too, is in the worker.

const STEPS = ['Hash write', 'Hash read', 'Sorted write', 'Sorted scan']
const PLACES = { opfs: 'a private file of this browser', indexeddb: 'the IndexedDB of this browser' }

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
  const max = Math.max(...speeds)
  const bars = speeds.map((speed, step) => {
    const label = document.createElement('label')
    label.append(STEPS[step], Object.assign(document.createElement('meter'), { max, value: speed }), speed.toFixed(2))
    return label
  })
  document.querySelector('figure div').replaceChildren(...bars)
}
