import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { StatsBucket } from 'perdure/client'
import { type ChartKind, exactly, middlesOf, milliseconds, rangeOf } from './figures.ts'

export type PlotOptions = {
  readonly into: HTMLElement
  readonly chart: ChartKind
  readonly onHover: (index: number | null) => void
}

const height = 148
const font = '12px "Inter Variable"'

/** Draws a chart into an element, with the colours of the theme, as wide as the element. `end` removes it. */
export function plot({ into, chart, onHover }: PlotOptions): {
  set(buckets: readonly StatsBucket[]): void
  end(): void
} {
  let buckets: readonly StatsBucket[] = []
  let drawn: UPlot | null = null
  const draw = (): void => {
    drawn?.destroy()
    drawn = new UPlot(optionsOf(into, chart, onHover), dataOf(chart, buckets), into)
  }
  const sizes = new ResizeObserver(() => drawn?.setSize({ width: into.clientWidth, height }))
  const themes = new MutationObserver(draw)
  const system = matchMedia('(prefers-color-scheme: dark)')
  draw()
  // A canvas draws with another font until this one is there, and is not drawn again by itself.
  let isOver = false
  void document.fonts.load(font).then(() => !isOver && draw())
  sizes.observe(into)
  themes.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  system.addEventListener('change', draw)
  return {
    set(given) {
      buckets = given
      drawn?.setData(dataOf(chart, buckets))
    },
    end() {
      isOver = true
      sizes.disconnect()
      themes.disconnect()
      system.removeEventListener('change', draw)
      drawn?.destroy()
    },
  }
}

function dataOf({ series }: ChartKind, buckets: readonly StatsBucket[]): UPlot.AlignedData {
  return [middlesOf(buckets), ...series.map(({ of }) => buckets.map(of))]
}

function optionsOf(
  into: HTMLElement,
  { shape, format, series }: ChartKind,
  onHover: (index: number | null) => void,
): UPlot.Options {
  const colour = colourIn(into)
  const axis = {
    stroke: colour('--color-faint'),
    grid: { stroke: colour('--color-line'), width: 1 },
    ticks: { show: false },
    font,
  }
  const bars = UPlot.paths.bars!({ size: [0.7, 12], align: 0 })
  return {
    width: into.clientWidth,
    height,
    // Half of the last label may stand right of the plot.
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: shape === 'lines' } },
    scales: {
      x: { range: ({ data: [middles] }) => rangeOf(middles) },
      y: { range: (_, __, most) => [0, 1.1 * Math.max(most, 1)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        space: 64,
        values: (_, times) => times.map((time) => clock.format(time * 1_000)),
      },
      {
        ...axis,
        size: 52,
        space: 32,
        incrs: format === milliseconds ? durations : wholes,
        values: (_, values) => values.map(format === milliseconds ? exactly : format),
      },
    ],
    series: [
      {},
      ...series.map(({ colour: name, isDashed = false }): UPlot.Series => {
        const stroke = colour(name)
        return shape === 'bars'
          ? { stroke, fill: stroke, width: 0, paths: bars, points: { show: false } }
          : {
              stroke,
              width: 1.5,
              spanGaps: true,
              points: { show: true, size: 4, fill: stroke },
              dash: isDashed ? [4, 3] : [],
            }
      }),
    ],
    hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? null)] },
  }
}

/** What is counted has no halves. */
const wholes = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((one) => one * 10 ** power)).flat()

/** Ticks that are read as `10 m` and not as 8 m and 20 s. */
const durations = [
  ...[1, 10, 100].flatMap((size) => [size, 2 * size, 5 * size]),
  ...[1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 21_600, 43_200].map((s) => 1_000 * s),
  ...[1, 2, 5, 10, 20, 50, 100].map((days) => 86_400_000 * days),
]

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

/** A canvas knows no variables of CSS: an element that uses one says what it is in this theme. */
function colourIn(into: HTMLElement): (name: string) => string {
  return (name) => {
    const probe = document.createElement('span')
    probe.style.color = `var(${name})`
    into.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}
