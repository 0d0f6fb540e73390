/** The rows of the table of all figures, its head first. */
export function rows(report) {
  const head = [
    'Host',
    'Steps',
    'Keys',
    'Threads',
    'System time (ms)',
    'Operations/s',
    'Bytes/pair',
    'Growth of the process/pair',
  ]
  const body = report.hosts.flatMap(host =>
    host.results.map((result, position) => ({
      startsHost: position === 0,
      cells: [
        host.host,
        result.step,
        whole(result.keys),
        whole(result.threads),
        tenths(result.milliseconds),
        whole(result.ops),
        tenths(result.bytes_per_pair),
        tenths(result.resident_bytes_per_pair),
      ],
    })),
  )
  return [{ startsHost: false, cells: head }, ...body]
}

function whole(number) {
  return number.toLocaleString('en')
}

function tenths(number) {
  return number === null
    ? ''
    : number.toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
}
