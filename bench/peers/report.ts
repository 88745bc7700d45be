import { measureOf, type PeersResults, type SubjectResult, type Workload, workloads } from './results.ts'

const begin = '<!-- figures: written by `npm run bench -- peers` -->'
const end = '<!-- end of figures -->'
const storeNames = { memory: 'memory', sqlite: 'SQLite', postgres: 'Postgres', file: 'a file' }
/** Where Perdure differs by less than this, neither is called faster. */
const noise = 0.05

/** The page with the tables of these results in it. */
export function withTables(page: string, results: PeersResults): string {
  const [before, rest] = page.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`The page has no '${begin}' and '${end}'.`)
  return `${before}${begin}\n\n${tables(results)}\n\n${end}${after}`
}

/** Everything that a run measured, as Markdown. */
export function tables(results: PeersResults): string {
  const all = workloads(results.lengths)
  const of = (...prefixes: string[]) => all.filter(({ id }) => prefixes.some((prefix) => id.startsWith(prefix)))
  return [
    runOf(results),
    '### A turn with a tool call',
    `Median milliseconds of a turn in a conversation of so many turns, and turns a second of 16 and 64 conversations at once.`,
    tableOf(results, of('turn_ms', 'turns_per_s')),
    '### An approval that waits, and the disk',
    `Milliseconds from the start of a new process, after \`kill -9\` of the one that asked, to the end of the turn; how much of it the answer took once everything was open; megabytes of one conversation; and how often the effect of one call ran when two processes sent its approval at once.`,
    tableOf(results, of('resume_ms', 'answer_ms', 'megabytes', 'effects')),
    '### The package',
    'Milliseconds to import what an application needs, and by how many megabytes the process grows.',
    tableOf(results, of('import')),
    '### Where Perdure is slower or larger',
    slower(results, all),
    '### Settings, as read back',
    settingsOf(results),
  ].join('\n\n')
}

function runOf({ form, day, minutes, machine, versions, rounds }: PeersResults): string {
  const [before, after] = machine.load
  const names = Object.entries(versions).map(([name, version]) => `\`${name}\` ${version}`)
  return [
    `Measured on ${day}, ${form} form, ${rounds} ${rounds === 1 ? 'round' : 'rounds'} in ${minutes} minutes: ${machine.processor}, ${machine.processors} processors, ${machine.memoryGb} GB,`,
    `${machine.system}, Node ${machine.node}, Postgres ${machine.postgres}. Load of the machine before and after: ${before.toFixed(1)} and ${after.toFixed(1)}.`,
    `Versions: ${names.join(', ')}.`,
  ].join('\n')
}

function tableOf(results: PeersResults, columns: readonly Workload[]): string {
  const shown = results.subjects.filter(
    ({ figures, notRun }) => notRun !== undefined || columns.some(({ id }) => figures[id] !== undefined),
  )
  const rows = shown.map((subject) => [nameOf(subject), ...columns.map((column) => cellOf(results, subject, column))])
  const head = ['', ...columns.map(({ title, unit }) => (unit === 'runs' ? title : `${title}, ${unit}`))]
  return markdown([head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows])
}

function nameOf(subject: SubjectResult): string {
  const name = `${subject.label}, ${storeNames[subject.store]}`
  return subject.id.startsWith('perdure-') ? `**${name}**` : name
}

/** The figure, and how it compares with Perdure on the same store. */
function cellOf(results: PeersResults, subject: SubjectResult, column: Workload): string {
  const figure = subject.figures[column.id]
  if (figure === undefined) return subject.notRun === undefined ? '-' : 'not run'
  if (column.unit === 'runs') return String(figure)
  const times = timesPerdure(results, subject, column)
  return times === null ? text(figure) : `${text(figure)} (${text(times)}x)`
}

/** How many times as slow or as large as Perdure. Below 1, Perdure is the slower one. Null for Perdure itself, and for counts. */
export function timesPerdure(results: PeersResults, subject: SubjectResult, column: Workload): number | null {
  const measure = measureOf(results, subject)
  const ours = measure?.figures[column.id]
  const theirs = subject.figures[column.id]
  if (measure === subject || column.unit === 'runs' || ours === undefined || theirs === undefined) return null
  return column.isMoreBetter ? ours / theirs : theirs / ours
}

function slower(results: PeersResults, columns: readonly Workload[]): string {
  const lines = results.subjects.flatMap((subject) => {
    const ahead = columns.flatMap((column) => {
      const times = timesPerdure(results, subject, column)
      return times === null || times > 1 - noise ? [] : [`${column.title} (${text(1 / times)}x)`]
    })
    return ahead.length > 0 ? [`- ${nameOf(subject)}: ${ahead.join(', ')}`] : []
  })
  lines.push(...slowerSaver(results, columns))
  if (lines.length === 0) return 'Nowhere in this run.'
  return ['How many times as slow, or as large, Perdure on the same store is.', '', ...lines].join('\n')
}

/** Our saver is Perdure too: the same graph with it, beside the official savers. */
function slowerSaver({ subjects }: PeersResults, columns: readonly Workload[]): string[] {
  const ours = subjects.find(({ id }) => id === 'langgraph-perdure')
  if (!ours) return []
  return subjects.flatMap((official) => {
    if (!official.id.startsWith('langgraph-sqlite')) return []
    const behind = columns.flatMap((column) => {
      const [mine, theirs] = [ours.figures[column.id], official.figures[column.id]]
      if (column.unit === 'runs' || mine === undefined || theirs === undefined) return []
      const times = column.isMoreBetter ? theirs / mine : mine / theirs
      return times < 1 / (1 - noise) ? [] : [`${column.title} (${text(times)}x)`]
    })
    return behind.length > 0 ? [`- ${nameOf(official)}, beside the same with PerdureSaver: ${behind.join(', ')}`] : []
  })
}

function settingsOf({ subjects, postgresSettings }: PeersResults): string {
  const told = (settings: Readonly<Record<string, string | number>>) =>
    Object.entries(settings)
      .map(([name, value]) => `\`${name} = ${value}\``)
      .join(', ')
  const rows = subjects.flatMap((subject) =>
    Object.keys(subject.settings).length > 0 ? [[nameOf(subject), told(subject.settings)]] : [],
  )
  const failed = subjects.flatMap((subject) =>
    subject.notRun === undefined ? [] : [`- ${nameOf(subject)} was not run to the end: ${subject.notRun}`],
  )
  return [
    markdown([['', 'settings'], ['---', '---'], ...rows, ['all on Postgres', told(postgresSettings)]]),
    ...(failed.length > 0 ? [failed.join('\n')] : []),
  ].join('\n\n')
}

function markdown(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n')
}

/** Three digits that count. */
export function text(figure: number): string {
  if (figure >= 99.95) return Math.round(figure).toLocaleString('en-US')
  return figure >= 9.995 ? figure.toFixed(1) : figure.toFixed(2)
}
