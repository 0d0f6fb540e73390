/** The charts of a report, as Chart.js takes them. No colour of the page is in them: a page sets its own. */

/** What each step is called in a title, in the order of the steps. */
export const STEPS = {
  unordered_write: 'Hash table: insert',
  unordered_read: 'Hash table: select',
  sorted_write: 'Sorted table: insert',
  sorted_read: 'Sorted table: scan',
}

/** Told apart by colour-blind readers too, on a light and on a dark ground. */
const COLOURS = ['#3d85c6', '#e69f00', '#009e73', '#cc79a7', '#8c8cd9', '#d55e00']

/** The numbers of threads that some host was measured with, in order. */
function threadCounts(report) {
  const counts = report.hosts.flatMap(host => host.results.map(result => result.threads))
  return [...new Set(counts)].sort((a, b) => a - b)
}

function find(host, step, threads) {
  return host.results.find(result => result.step === step && result.threads === threads)
}

/** One chart per step: a group of bars per number of threads, a bar per host. */
export function throughputCharts(report) {
  const counts = threadCounts(report)
  return Object.entries(STEPS).map(([step, title]) => ({
    title,
    config: {
      type: 'bar',
      data: {
        labels: counts.map(count => (count === 1 ? '1 thread' : `${count} threads`)),
        datasets: report.hosts.map((host, position) => ({
          label: host.host,
          data: counts.map(count => millions(find(host, step, count)?.ops)),
          backgroundColor: COLOURS[position % COLOURS.length],
          skipNull: true,
        })),
      },
      options: options(title, { y: { beginAtZero: true, title: axis('million operations/s') } }),
    },
  }))
}

/** What bars of the chart of memory stand for. */
const MEMORY = [
  { label: 'hash table, counted by the store', step: 'unordered_write', field: 'bytes_per_pair' },
  {
    label: 'hash table, growth of the process',
    step: 'unordered_write',
    field: 'resident_bytes_per_pair',
  },
  { label: 'sorted table, counted by the store', step: 'sorted_write', field: 'bytes_per_pair' },
  {
    label: 'sorted table, growth of the process',
    step: 'sorted_write',
    field: 'resident_bytes_per_pair',
  },
]

/** One chart: a group of bars per host. */
export function memoryChart(report) {
  const [fewest] = threadCounts(report)
  const title = 'Bytes per pair'
  return {
    title,
    config: {
      type: 'bar',
      data: {
        labels: report.hosts.map(host => host.host),
        datasets: MEMORY.map(({ label, step, field }, position) => ({
          label,
          data: report.hosts.map(host => find(host, step, fewest)?.[field] ?? null),
          backgroundColor: COLOURS[position],
          skipNull: true,
        })),
      },
      options: options(title, { y: { beginAtZero: true, title: axis('bytes') } }),
    },
  }
}

function millions(ops) {
  return ops === undefined ? null : ops / 1e6
}

function axis(text) {
  return { display: true, text }
}

function options(title, scales) {
  return {
    responsive: true,
    maintainAspectRatio: false,
    animation: false,
    scales,
    plugins: {
      title: { display: true, text: title },
      legend: { position: 'bottom', labels: { boxWidth: 12 } },
    },
  }
}
