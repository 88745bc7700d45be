import { text } from './report.ts'
import type { PeersResults, SubjectResult } from './results.ts'

const width = 980
const panelHeight = 300
const left = 56
const plotWidth = 262
const labelGap = 14
const barHeight = 22

type Panel = { readonly title: string; readonly subjects: readonly SubjectResult[]; readonly x: number }

/** Three panels, plain: how long a turn takes as its conversation grows, on a file and on Postgres, and what 500 turns take on disk. All scales are logarithmic. */
export function chart(results: PeersResults): string {
  const of = (...stores: string[]) => results.subjects.filter(({ store }) => stores.includes(store))
  const sized = results.subjects
    .filter(({ figures }) => figures['megabytes'] !== undefined)
    .toSorted((one, other) => one.figures['megabytes']! - other.figures['megabytes']!)
  const panels: Panel[] = [
    { title: 'A turn on SQLite or a file, ms, logarithmic', subjects: of('sqlite', 'file', 'memory'), x: 0 },
    { title: 'A turn on Postgres, ms, logarithmic', subjects: of('postgres'), x: width / 2 + 16 },
  ]
  const height = panelHeight + 90 + sized.length * barHeight
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>Milliseconds of a turn by the length of its conversation, and megabytes on disk after ${results.lengths.at(-1)} turns</title>`,
    style,
    `<rect class="page" width="${width}" height="${height}" rx="8"/>`,
    ...panels.map((panel) => lines(panel, results.lengths)),
    bars(sized, results.lengths.at(-1)!, panelHeight + 30),
    '</svg>',
    '',
  ].join('\n')
}

/** The colours of the studio's tokens. */
const style = `<style>
.page { fill: #ffffff } text { fill: #51555c; font: 12px ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif }
.title { font-weight: 600; fill: #181b1f } text.ours { font-weight: 600; fill: #3263c3 } .grid { stroke: #e2e3e5 }
.line { fill: none; stroke: #90949a; stroke-width: 1.5 } .line.ours { stroke: #3263c3; stroke-width: 2.5 } .line.floor { stroke-dasharray: 4 3 }
.bar { fill: #bbbec2 } .bar.ours { fill: #3263c3 }
@media (prefers-color-scheme: dark) {
.page { fill: #141619 } text { fill: #a7abb1 } .title { fill: #e9ebee } text.ours { fill: #81aaf7 } .grid { stroke: #2b2d30 }
.line { stroke: #71757b } .line.ours { stroke: #81aaf7 } .bar { fill: #4a4d53 } .bar.ours { fill: #81aaf7 } }
</style>`

function lines({ title, subjects, x }: Panel, lengths: readonly number[]): string {
  const drawn = subjects.filter(({ figures }) =>
    lengths.some((length) => figures[`turn_ms_at_${length}`] !== undefined),
  )
  const points = drawn.map((subject) => ({
    subject,
    values: lengths.flatMap((length) => {
      const ms = subject.figures[`turn_ms_at_${length}`]
      return ms === undefined ? [] : [{ length, ms }]
    }),
  }))
  const all = points.flatMap(({ values }) => values.map(({ ms }) => ms))
  const scale = logarithmic(Math.min(...all, 1), Math.max(...all, 10), panelHeight - 40, 48)
  const across = (length: number) => x + left + (Math.log(length) / Math.log(lengths.at(-1)!)) * plotWidth
  const labels = spreadOut(
    points.map(({ subject, values }) => ({ subject, y: scale.at(values.at(-1)!.ms), ms: values.at(-1)!.ms })),
  )
  return [
    `<text class="title" x="${x + 16}" y="28">${title}</text>`,
    ...scale.powers.map((power) => {
      const y = scale.at(power).toFixed(1)
      return `<line class="grid" x1="${x + left}" x2="${x + left + plotWidth}" y1="${y}" y2="${y}"/><text x="${x + left - 8}" y="${y}" dy="4" text-anchor="end">${power}</text>`
    }),
    ...lengths.map(
      (length) =>
        `<text x="${across(length).toFixed(1)}" y="${panelHeight - 18}" text-anchor="middle">${length}</text>`,
    ),
    `<text x="${x + left + plotWidth / 2}" y="${panelHeight}" text-anchor="middle">turns in the conversation</text>`,
    ...points.map(({ subject, values }) => {
      const path = values.map(({ length, ms }) => `${across(length).toFixed(1)},${scale.at(ms).toFixed(1)}`).join(' ')
      return `<polyline class="line${classOf(subject)}" points="${path}"/>`
    }),
    ...labels.map(({ subject, y, ms }) => {
      const name = subject.store === 'memory' && subject.id.startsWith('perdure') ? 'Perdure, memory' : subject.label
      return `<text class="${classOf(subject).trim()}" x="${x + left + plotWidth + 6}" y="${y.toFixed(1)}" dy="4">${escaped(name)} ${text(ms)}</text>`
    }),
  ].join('\n')
}

function bars(subjects: readonly SubjectResult[], turns: number, top: number): string {
  const most = Math.max(...subjects.map(({ figures }) => figures['megabytes']!), 10)
  const least = Math.min(...subjects.map(({ figures }) => figures['megabytes']!), 1) / 2
  const long = (megabytes: number) => (Math.log(megabytes / least) / Math.log(most / least)) * (width - 360)
  return [
    `<text class="title" x="16" y="${top + 12}">On disk after ${turns} turns, MB, logarithmic</text>`,
    ...subjects.map((subject, index) => {
      const megabytes = subject.figures['megabytes']!
      const y = top + 28 + index * barHeight
      const length = Math.max(2, long(megabytes))
      const store = { sqlite: 'SQLite', postgres: 'Postgres', file: 'a file', memory: 'memory' }[subject.store]
      const name = `${subject.label}, ${store}`
      return `<text class="${classOf(subject).trim()}" x="236" y="${y + 11}" text-anchor="end">${escaped(name)}</text><rect class="bar${classOf(subject)}" x="246" y="${y}" width="${length.toFixed(1)}" height="14" rx="2"/><text x="${(252 + length).toFixed(1)}" y="${y + 11}">${text(megabytes)}</text>`
    }),
  ].join('\n')
}

function classOf({ id }: SubjectResult): string {
  if (id.startsWith('perdure-')) return ' ours'
  return id.startsWith('raw-') || id === 'ai-sdk' ? ' floor' : ''
}

/** Maps values to heights, from `bottom` for the least to `top` for the most. */
function logarithmic(least: number, most: number, bottom: number, top: number) {
  const powers: number[] = []
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power++)
    powers.push(Number((10 ** power).toPrecision(1)))
  const span = Math.log(powers.at(-1)! / powers[0]!)
  return { powers, at: (value: number) => bottom - (Math.log(value / powers[0]!) / span) * (bottom - top) }
}

/** Moves labels down where they would cover each other. */
function spreadOut<T extends { readonly y: number }>(labels: readonly T[]): T[] {
  let last = Number.NEGATIVE_INFINITY
  return labels
    .toSorted((one, other) => one.y - other.y)
    .map((label) => {
      last = Math.max(label.y, last + labelGap)
      return { ...label, y: last }
    })
}

function escaped(name: string): string {
  return name.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
