/** Plot of numbers over time, drawn by uPlot when a person scrolls to it. https://github.com/leeoniya/uPlot */
import { h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { type Drawn, MOST_DRAWN, type NormalRange, type Series, summaryOf } from '../observations.ts'

/** `drawn`: another object makes the plot draw again. */
type Props = { readonly title: string; readonly drawn: Drawn; readonly range: NormalRange | undefined }

const HEIGHT = 120
/** Variables of the style, and dashes, of the series in their order. */
const STROKES: readonly (readonly [variable: string, dash: number[]])[] = [
  ['--act', []],
  ['--warn', [6, 3]],
  ['--bad', [2, 3]],
  ['--quiet', [8, 3, 2, 3]],
]

export function Plot({ title, drawn, range }: Props) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => drawWhenSeen(place.current!, drawn, range), [drawn])
  return h('div', { class: 'plot', ref: place, role: 'img', 'aria-label': `Plot of ${title}: ${summaryOf(drawn)}` })
}

/** Draws the plot once it is in view, and again for another color scheme. Returns a function that removes it. */
function drawWhenSeen(element: HTMLElement, drawn: Drawn, range: NormalRange | undefined): () => void {
  let plot: uPlot | undefined
  let isRemoved = false
  const scheme = matchMedia('(prefers-color-scheme: dark)')
  const draw = async () => {
    const { default: Plotter } = await import('uplot')
    await turn()
    if (isRemoved) return
    plot?.destroy()
    plot = new Plotter(optionsOf(element, drawn.series, range), dataOf(drawn.series), element)
  }
  const redraw = () => void (plot !== undefined && draw())
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return
    seen.disconnect()
    // After a deployment the file of an older page is gone. The values stand beside the plot.
    draw().catch(() => element.append('Reload the page to see the plot.'))
  })
  const resized = new ResizeObserver(() => {
    if (plot !== undefined && plot.width !== element.clientWidth) plot.setSize({ width: element.clientWidth, height: HEIGHT })
  })
  seen.observe(element)
  resized.observe(element)
  scheme.addEventListener('change', redraw)
  return () => {
    isRemoved = true
    seen.disconnect()
    resized.disconnect()
    scheme.removeEventListener('change', redraw)
    plot?.destroy()
  }
}

let lastTurn: Promise<void> = Promise.resolve()

/** Resolves in a task of its own, so that many plots do not block the page. */
function turn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise((resolve) => setTimeout(resolve)))
  return lastTurn
}

/** Returns the times in ascending order, then the values of each series at these times. */
function dataOf(series: readonly Series[]): uPlot.AlignedData {
  const times = [...new Set(series.flatMap(({ points }) => points.map(({ seconds }) => seconds)))].sort((a, b) => a - b)
  const rows = series.map(({ points }) => {
    const values = new Map(points.map(({ seconds, value }) => [seconds, value]))
    return times.map((each) => values.get(each) ?? null)
  })
  return [times, ...rows]
}

function optionsOf(element: HTMLElement, series: readonly Series[], range: NormalRange | undefined): uPlot.Options {
  const style = getComputedStyle(element)
  const color = (variable: string) => style.getPropertyValue(variable)
  const axis = {
    stroke: color('--quiet'),
    font: '12px system-ui, sans-serif',
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_, low, high) => boundsOf(low, high, range) } },
    axes: [
      { ...axis, size: 24, space: 48 },
      { ...axis, size: 48, space: 24 },
    ],
    series: [
      {},
      ...series.map(({ name }, i) => {
        const [variable, dash] = STROKES[i % STROKES.length]!
        return { label: name, stroke: color(variable), dash, width: 1.5, spanGaps: true, points: { show: true, size: 5 } }
      }),
    ],
    hooks: { drawClear: [(plot) => fillRange(plot, range, color('--line'))] },
  }
}

/**
 * Returns the bounds of the vertical axis: they contain the values and the reference range. The distance of the bounds is at least a
 * millionth of the numbers. Otherwise their ticks could be closer than doubles, and uPlot would count them without end.
 */
export function boundsOf(low: number, high: number, range: NormalRange | undefined): [number, number] {
  const isDrawn = (each: number | undefined): each is number => each !== undefined && Math.abs(each) <= MOST_DRAWN
  const bounds = [low, high, range?.low, range?.high].filter(isDrawn)
  const [from, to] = [Math.min(...bounds), Math.max(...bounds)]
  const size = Math.max(Math.abs(from), Math.abs(to))
  const margin = from === to ? size / 10 || 1 : Math.max((to - from) / 10, size / 1_000_000)
  return [from - margin, to + margin]
}

/** Fills the area of the reference range. A range without a bound reaches to the edge. */
function fillRange(plot: uPlot, range: NormalRange | undefined, color: string): void {
  if (range === undefined || (range.low === undefined && range.high === undefined)) return
  const { ctx, bbox } = plot
  const top = range.high === undefined ? bbox.top : plot.valToPos(range.high, 'y', true)
  const bottom = range.low === undefined ? bbox.top + bbox.height : plot.valToPos(range.low, 'y', true)
  ctx.save()
  ctx.globalAlpha = 0.5
  ctx.fillStyle = color
  ctx.fillRect(bbox.left, top, bbox.width, bottom - top)
  ctx.restore()
}
