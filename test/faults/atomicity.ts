import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../src/store/store.ts'
import { untilNobodyIsConnected } from './harness/client-backends.ts'
import { progress, runCommand } from './harness/command.ts'
import { type SeededRandom, seededRandom } from './harness/seeded-random.ts'
import { type ChildEnd, spawnChild } from './harness/spawn-child.ts'
import { openStore, type Target } from './harness/target.ts'
import { type Finding, judge, type Verdict } from './harness/verdict.ts'
import { type Place, withTarget } from './harness/with-target.ts'
import { checkLedger } from './workload/check-ledger.ts'
import { isUnanswered, Ledger, type WriterMessage } from './workload/ledger.ts'
import type { WriterInput } from './workload/writer-child.ts'

const fullRounds = { sqlite: 200, postgres: 50 }
const lanes = 4
const padBytes = 600

/** A writer is killed at random moments; whatever it was told must be true, and nothing may be half. */
export async function atomicity(
  options: Place & { readonly seed: number; readonly rounds?: number },
): Promise<Verdict> {
  const { store, seed } = options
  const rounds = options.rounds ?? fullRounds[store]
  const find = (): Promise<Finding> => withTarget(options, (target) => killRounds(target, seed, rounds))
  return judge({ program: 'atomicity', store, seed }, [{ name: 'kill', find }])
}

type Round = { readonly target: Target; readonly ledger: Ledger }

async function killRounds(target: Target, seed: number, rounds: number): Promise<Finding> {
  const random = seededRandom(seed)
  const violations: string[] = []
  const done: Round[] = []
  const counts = {
    rounds,
    killed: 0,
    acknowledged: 0,
    refused: 0,
    cutOff: 0,
    roundsCutOff: 0,
    cutOffWritten: 0,
    resent: 0,
  }
  for (let round = 0; round < rounds; round++) {
    const moment = killMoment(random)
    // A file of its own, so that the kill can meet the making of it.
    const isNewFile = target.store === 'sqlite' && moment.type === 'while opening'
    const place = isNewFile ? { ...target, path: `${target.path}.${round}` } : target
    const bystander = target.store === 'sqlite' && random.chance(0.3) ? await openStore(place) : null
    const { ledger, end } = await killOneWriter(place, random, `r${round}`, moment)
    if (end.signal === 'SIGKILL') counts.killed += 1
    else violations.push(`round ${round}: the writer ended by itself with ${end.code}: ${end.complaint}`)
    await untilNobodyIsConnected(place)
    const store = bystander ?? (await openStore(place))
    const before = await checkLedger(store, ledger)
    const cutOff = ledger.unanswered()
    counts.cutOff += cutOff.length
    counts.roundsCutOff += cutOff.length > 0 ? 1 : 0
    counts.cutOffWritten += cutOff.filter(({ planned }) => before.present.has(planned.commit)).length
    counts.resent += await sendAgain(store, ledger)
    const after = await checkLedger(store, ledger)
    violations.push(...[...before.violations, ...after.violations].map((text) => `round ${round}: ${text}`))
    await store.close()
    done.push({ target: place, ledger })
    if ((round + 1) % 10 === 0) progress(`atomicity ${target.store}: ${round + 1} of ${rounds} rounds`)
  }
  for (const { ledger } of done) {
    const answers = [...ledger.entries.values()].flatMap((entry) => entry.answers)
    counts.acknowledged += answers.filter((answer) => answer.ok).length
    counts.refused += answers.filter((answer) => !answer.ok).length
  }
  violations.push(...(await checkEverythingAgain(done)))
  return { violations, notExercised: notExercised(counts), counts }
}

function notExercised(counts: {
  rounds: number
  killed: number
  acknowledged: number
  refused: number
  roundsCutOff: number
}) {
  const missing: string[] = []
  if (counts.killed < counts.rounds) missing.push('not every writer was killed')
  if (counts.roundsCutOff * 4 < counts.rounds) missing.push('fewer than a quarter of the kills met a commit under way')
  if (counts.acknowledged < counts.rounds * 5) missing.push('fewer than five commits per round were acknowledged')
  if (counts.refused === 0) missing.push('no change was refused')
  return missing
}

type KillMoment =
  | { readonly type: 'while opening'; readonly delayMs: number }
  | { readonly type: 'after answers'; readonly answers: number; readonly delayMs: number }

function killMoment(random: SeededRandom): KillMoment {
  if (random.chance(0.1)) return { type: 'while opening', delayMs: random.int(50, 300) }
  return { type: 'after answers', answers: random.int(0, 80), delayMs: random.chance(0.5) ? 0 : random.next() * 4 }
}

async function killOneWriter(
  target: Target,
  random: SeededRandom,
  prefix: string,
  moment: KillMoment,
): Promise<{ ledger: Ledger; end: ChildEnd }> {
  const ledger = new Ledger()
  const input: WriterInput = { target, seed: random.int(1, 2 ** 31), prefix, lanes, padBytes }
  let isDoomed = false
  const kill = async (): Promise<void> => {
    if (isDoomed) return
    isDoomed = true
    if (moment.delayMs > 0) await sleep(moment.delayMs)
    child.kill()
  }
  const child = spawnChild<WriterMessage>({
    script: new URL('./workload/writer-child.ts', import.meta.url),
    input,
    onMessage(message) {
      ledger.hear(message)
      if (moment.type === 'after answers' && message.type !== 'ready' && ledger.answers >= moment.answers) void kill()
    },
  })
  if (moment.type === 'while opening') void kill()
  return { ledger, end: await child.ended }
}

/** What a client does that got no answer: the same key again. Returns how many there were. */
async function sendAgain(store: Store, ledger: Ledger): Promise<number> {
  const entries = ledger.unanswered().filter(({ planned }) => planned.change.key !== undefined)
  for (const entry of entries) {
    entry.answers.push(await store.commit(entry.planned.conversation, entry.planned.change))
    if (isUnanswered(entry)) entry.attempts = entry.answers.length + entry.failures.length
  }
  return entries.length
}

/** Later kills must not harm what earlier rounds left. */
async function checkEverythingAgain(rounds: readonly Round[]): Promise<string[]> {
  const violations: string[] = []
  for (const [key, group] of Map.groupBy(rounds, ({ target }) => JSON.stringify(target))) {
    const target = JSON.parse(key) as Target
    const store = await openStore(target)
    for (const { ledger } of group) violations.push(...(await checkLedger(store, ledger)).violations)
    await store.close()
    if (target.store === 'sqlite') violations.push(...integrityProblems(target.path))
  }
  return violations.map((text) => `at the end: ${text}`)
}

function integrityProblems(path: string): string[] {
  const database = new DatabaseSync(path)
  try {
    const rows = database.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[]
    return rows.map((row) => row.integrity_check).filter((text) => text !== 'ok')
  } finally {
    database.close()
  }
}

await runCommand(import.meta, atomicity)
