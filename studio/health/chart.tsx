import { ChevronRight } from 'lucide-react'
import type { StatsBucket } from 'perdure/client'
import { useEffect, useRef, useState } from 'react'
import { type ChartKind, rowsOf } from './figures.ts'
import { plot } from './plot.ts'

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

/** A chart with what is under the pointer, and its numbers as a table for everyone who does not point. */
export function Chart({ chart, buckets }: { chart: ChartKind; buckets: readonly StatsBucket[] }) {
  const canvas = useRef<HTMLDivElement>(null)
  const drawn = useRef<ReturnType<typeof plot> | null>(null)
  const [hovered, setHovered] = useState<number | null>(null)
  useEffect(() => {
    if (!canvas.current) return
    const made = plot({ into: canvas.current, chart, onHover: setHovered })
    drawn.current = made
    return () => made.end()
  }, [chart])
  useEffect(() => drawn.current?.set(buckets), [buckets])
  const rows = rowsOf(chart, buckets)
  const at = hovered === null ? undefined : buckets[hovered]
  return (
    <figure className="flex min-w-0 flex-col border-b p-4">
      <figcaption className="flex min-h-5 flex-wrap items-center gap-x-3">
        <h2 className="font-medium">{chart.title}</h2>
        {chart.series.length > 1 &&
          chart.series.map(({ name, colour, isDashed }) => (
            <span key={name} className="inline-flex items-center gap-1.5 text-xs text-soft">
              <span
                className={`w-4 ${chart.shape === 'bars' ? 'border-t-8' : 'border-t-2'} ${isDashed ? 'border-dashed' : ''}`}
                style={{ borderColor: `var(${colour})` }}
                aria-hidden
              />
              {name}
            </span>
          ))}
        <span className="ml-auto text-xs text-soft" aria-hidden>
          {at &&
            `${clock.format(at.at)}  ${chart.series.map(({ name, of }) => `${name} ${formatted(chart, of(at))}`).join('  ')}`}
        </span>
      </figcaption>
      <div className="relative mt-1 h-37">
        <div ref={canvas} aria-hidden className="h-full" />
        {rows.length === 0 && (
          <p className="absolute inset-0 grid place-items-center text-faint">Nothing in this time</p>
        )}
      </div>
      <details className="group/numbers mt-1 text-xs text-soft">
        <summary className="flex w-fit cursor-pointer list-none items-center gap-1 hover:text-text max-md:py-3 [&::-webkit-details-marker]:hidden">
          <ChevronRight className="size-3.5 group-open/numbers:rotate-90" aria-hidden />
          Numbers<span className="sr-only"> of {chart.title}</span>
        </summary>
        <table className="mt-1 w-full max-w-90">
          <thead>
            <tr className="text-left text-faint">
              <th scope="col" className="font-normal">
                From
              </th>
              {chart.series.map(({ name }) => (
                <th key={name} scope="col" className="text-right font-normal">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.at}>
                <td>{clock.format(row.at)}</td>
                {row.values.map((value, index) => (
                  <td key={chart.series[index]!.name} className="text-right">
                    {formatted(chart, value)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  )
}

function formatted({ format }: ChartKind, value: number | null): string {
  return value === null ? '–' : format(value)
}
