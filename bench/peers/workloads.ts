import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { median } from '../measure.ts'
import { type Answered, type Place, SubjectProcess } from './subject-process.ts'
import type { PeerSubject } from './subjects.ts'

const warmUpTurns = 15
/** A length stands for as many turns that end there. */
const turnsOfLength = 9
/** The most turns of one subject before the next has its turn. */
const block = 50
const payMs = 20

/** Where subjects are installed, and where they keep their data. */
export type Ground = {
  readonly app: string
  readonly folder: string
  /** A new, empty database. */
  createDatabase(name: string): Promise<string>
  /** Of all tables with their indexes. Nothing is vacuumed for it. */
  bytesOfDatabase(url: string): Promise<number>
}

/** The samples of each figure of each subject, the settings that it reported, and why it failed if it did. */
export class Samples {
  readonly #figures = new Map<string, Map<string, number[]>>()
  readonly settings = new Map<string, Readonly<Record<string, string | number>>>()
  readonly failures = new Map<string, string>()

  note(subject: PeerSubject, figure: string, ...values: number[]): void {
    const figures = this.#figures.get(subject.id) ?? new Map<string, number[]>()
    this.#figures.set(subject.id, figures)
    figures.set(figure, [...(figures.get(figure) ?? []), ...values])
  }

  figuresOf(subject: PeerSubject): Record<string, number> {
    const figures = [...(this.#figures.get(subject.id) ?? [])]
    return Object.fromEntries(figures.map(([figure, values]) => [figure, rounded(middle(figure, values))]))
  }
}

/** Everything once. The subjects are open side by side and take turns in blocks, so that a busy moment of the machine meets all of them. */
export async function playRound(
  ground: Ground,
  subjects: readonly PeerSubject[],
  { round, lengths, samples }: { round: number; lengths: readonly number[]; samples: Samples },
): Promise<void> {
  const places = new Map<string, Place>()
  const processes = new Map<string, SubjectProcess>()
  const emptyBytes = new Map<string, number>()
  const each = alternating(subjects, samples)

  await each(async (subject) => {
    const place = await newPlace(ground, subject, `r${round}`)
    places.set(subject.id, place)
    const process = await SubjectProcess.start(ground.app, subject, place)
    processes.set(subject.id, process)
    await process.call('turns', { id: 'warm-up', count: warmUpTurns, isAside: true })
  })
  const of = (subject: PeerSubject): SubjectProcess => processes.get(subject.id)!

  for (let part = 0; part < 3; part++)
    await each(async (subject) => {
      const times = await of(subject).call('turns', { id: `fresh-${part}`, count: 8, fresh: true, isAside: true })
      samples.note(subject, 'turn_ms_at_1', ...times)
    })
  for (const lanes of [16, 64])
    for (let part = 0; part < 2; part++)
      await each(async (subject) => {
        const rate = await of(subject).call('rate', { id: `at-once-${lanes}-${part}`, lanes, perLane: 6 })
        samples.note(subject, `turns_per_s_of_${lanes}`, rate)
      })
  await each(async (subject) => {
    const { url } = places.get(subject.id)!
    if (url) emptyBytes.set(subject.id, await ground.bytesOfDatabase(url))
  })
  for (const { count, length } of growth(lengths))
    await each(async (subject) => {
      const times = await of(subject).call('turns', { id: 'sized', count })
      if (length !== null) samples.note(subject, `turn_ms_at_${length}`, ...times)
    })
  await each(async (subject) => {
    samples.settings.set(subject.id, await of(subject).call('settings', {}))
    await of(subject).close()
    const { url, folder } = places.get(subject.id)!
    if (subject.store === 'memory') return
    const bytes = url
      ? (await ground.bytesOfDatabase(url)) - (emptyBytes.get(subject.id) ?? 0)
      : await bytesOfFiles(folder)
    samples.note(subject, 'megabytes', bytes / 1e6)
  })
  await Promise.all([...processes.values()].map((process) => process.kill()))
  const suspending = subjects.filter(({ suspends }) => suspends)
  await resumeInNewProcesses(ground, suspending, places, lengths, samples)
  await approveTwice(ground, suspending, round, samples)
}

/** How a conversation grows to each length: blocks, of which the last of a length is measured. */
function growth(lengths: readonly number[]): { count: number; length: number | null }[] {
  const steps: { count: number; length: number | null }[] = []
  let grown = 0
  for (const length of lengths.slice(1)) {
    const until = length - turnsOfLength
    for (; grown < until; grown += Math.min(block, until - grown))
      steps.push({ count: Math.min(block, until - grown), length: null })
    steps.push({ count: length - grown, length })
    grown = length
  }
  return steps
}

/** A conversation waits for an approval, its process is killed, and a new process takes the answer and ends the turn. */
async function resumeInNewProcesses(
  ground: Ground,
  subjects: readonly PeerSubject[],
  places: ReadonlyMap<string, Place>,
  lengths: readonly number[],
  samples: Samples,
): Promise<void> {
  const conversations = [
    { id: 'short', length: lengths[1]! },
    { id: 'sized', length: lengths.at(-1)! },
  ]
  const tokens = new Map<string, unknown>()
  const each = alternating(subjects, samples)
  await each(async (subject) => {
    const process = await SubjectProcess.start(ground.app, subject, places.get(subject.id)!)
    await process.call('turns', { id: 'short', count: lengths[1]! })
    for (const { id } of conversations) tokens.set(`${subject.id} ${id}`, await process.call('ask', { id }))
    await process.kill()
  })
  for (const { id, length } of conversations.flatMap((conversation) => [conversation, conversation]))
    await each(async (subject) => {
      const process = await SubjectProcess.start(ground.app, subject, places.get(subject.id)!)
      const key = `${subject.id} ${id}`
      const answered = await process.call('answer', { id, token: tokens.get(key) })
      if (answered.refused !== null) throw new Error(`${subject.id} refused an answer: ${answered.refused}`)
      samples.note(subject, `resume_ms_at_${length}`, answered.sinceStartMs)
      samples.note(subject, `answer_ms_at_${length}`, answered.ms)
      tokens.set(key, await process.call('ask', { id }))
      await process.kill()
    })
}

/** Two processes on the same data, and the same approval sent to both at once. Each run of the effect is a line in a file. */
async function approveTwice(
  ground: Ground,
  subjects: readonly PeerSubject[],
  round: number,
  samples: Samples,
): Promise<void> {
  await alternating(
    subjects,
    samples,
  )(async (subject) => {
    const place = await newPlace(ground, subject, `twice${round}`)
    const start = (name: string) => SubjectProcess.start(ground.app, subject, place, { payMs, name })
    const [asker, other] = [await start('one'), await start('two')]
    try {
      for (let n = 0; n < 5; n++) {
        const id = `twice-${n}`
        const before = await runsOfEffect(place.folder)
        const token = await asker.call('ask', { id })
        const answers: Answered[] = await Promise.all([asker, other].map((one) => one.call('answer', { id, token })))
        if (answers.every(({ refused }) => refused !== null)) throw new Error(`${subject.id}: ${answers[0]!.refused}`)
        samples.note(subject, 'effects_of_two_approvals', (await runsOfEffect(place.folder)) - before)
      }
    } finally {
      await asker.kill()
      await other.kill()
    }
  })
}

async function runsOfEffect(folder: string): Promise<number> {
  const text = await readFile(join(folder, 'effects'), 'utf8').catch(() => '')
  return text.split('\n').filter(Boolean).length
}

/** The time of the imports in a new process, and by how much it grows. */
export async function measureImports(
  app: string,
  subjects: readonly PeerSubject[],
  times: number,
  samples: Samples,
): Promise<void> {
  const each = alternating(subjects, samples)
  for (let n = 0; n < times; n++)
    await each(async (subject) => {
      const args = ['--disable-warning=ExperimentalWarning', 'import-probe.js', ...subject.imports]
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: app })
      const { ms, bytes } = JSON.parse(stdout) as { ms: number; bytes: number }
      samples.note(subject, 'import_ms', ms)
      samples.note(subject, 'import_megabytes', bytes / 1e6)
    })
}

/** One subject after another, each time beginning with the next. One that fails is left out from then on. */
function alternating(
  subjects: readonly PeerSubject[],
  samples: Samples,
): (work: (subject: PeerSubject) => Promise<void>) => Promise<void> {
  let first = 0
  return async (work) => {
    const order = [...subjects.slice(first), ...subjects.slice(0, first)]
    first = (first + 1) % Math.max(1, subjects.length)
    for (const subject of order) {
      if (samples.failures.has(subject.id)) continue
      try {
        await work(subject)
      } catch (error) {
        samples.failures.set(subject.id, firstLines(error))
        console.error(`${subject.id} failed: ${firstLines(error)}`)
      }
    }
  }
}

function firstLines(error: unknown): string {
  return String(error).split('\n').slice(0, 3).join(' ').slice(0, 300)
}

async function newPlace(ground: Ground, subject: PeerSubject, name: string): Promise<Place> {
  const folder = join(ground.folder, `${subject.id}-${name}`)
  await mkdir(folder, { recursive: true })
  if (subject.store !== 'postgres') return { folder }
  const database = `${subject.id}-${name}`.replaceAll('-', '_')
  const [url, asideUrl] = [await ground.createDatabase(database), await ground.createDatabase(`${database}_aside`)]
  return { folder, url, asideUrl }
}

/** Without those of the warm-up, and without the effects. */
async function bytesOfFiles(folder: string): Promise<number> {
  const names = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile())
  const sizes = await Promise.all(names.map(async ({ name }) => (await stat(join(folder, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Of runs of an effect the mean, because one too many in five is one too many. */
function middle(figure: string, values: readonly number[]): number {
  const isCount = figure === 'effects_of_two_approvals'
  return isCount ? values.reduce((sum, value) => sum + value, 0) / values.length : median(values)
}

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
