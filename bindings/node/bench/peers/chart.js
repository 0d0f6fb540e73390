// The figures as one picture: a panel for each step, a bar for each library.
import * as echarts from 'echarts'

const TITLES = {
  insert: 'insert, million/s',
  select: 'select, million/s',
  insertMany: 'insertMany of 1,000, million/s',
  selectMany: 'selectMany of 1,000, million/s',
  scan: 'scan, million pairs/s',
  range: 'ranges of 100, thousand/s',
  bytes: 'bytes a pair (less is better)',
}
const UNITS = { bytes: 1, range: 1e3 }
const [WIDTH, HEIGHT, GAP] = [420, 260, 40]

/** An SVG. */
export function draw(steps, figures) {
  const peers = Object.keys(figures)
  const shown = steps.filter((step) => peers.some((peer) => figures[peer][step] !== undefined))
  const columns = 2
  const place = (at) => ({
    left: (at % columns) * (WIDTH + GAP) + GAP,
    top: Math.floor(at / columns) * (HEIGHT + GAP) + GAP,
  })
  const panels = shown.map((step, at) => {
    const own = peers.filter((peer) => figures[peer][step] !== undefined).toReversed()
    const { left, top } = place(at)
    return {
      title: { text: TITLES[step], left, top: top - 25, textStyle: { fontSize: 14 } },
      grid: { left: left + 110, top, width: WIDTH - 170, height: HEIGHT - 30 },
      xAxis: { type: 'value', gridIndex: at, splitNumber: 3 },
      yAxis: { type: 'category', gridIndex: at, data: own, axisTick: { show: false } },
      series: {
        type: 'bar',
        xAxisIndex: at,
        yAxisIndex: at,
        label: { show: true, position: 'right', formatter: ({ value }) => value.toPrecision(3) },
        data: own.map((peer) => ({
          value: figures[peer][step] / (UNITS[step] ?? 1e6),
          itemStyle: { color: peer.startsWith('twindex') ? '#d9480f' : '#868e96' },
        })),
      },
    }
  })
  const chart = echarts.init(null, null, {
    renderer: 'svg',
    ssr: true,
    width: columns * (WIDTH + GAP) + GAP,
    height: Math.ceil(shown.length / columns) * (HEIGHT + GAP) + GAP,
  })
  const all = (part) => panels.map((panel) => panel[part])
  chart.setOption({
    animation: false,
    title: all('title'),
    grid: all('grid'),
    xAxis: all('xAxis'),
    yAxis: all('yAxis'),
    series: all('series'),
  })
  const svg = `${chart.renderToSVGString()}\n`
  chart.dispose()
  return svg
}
