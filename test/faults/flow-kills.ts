import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { flowFailpoints } from '../../src/base/failpoint.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { foldFlow } from '../../src/engine/flow/flow-state.ts'
import type { LogEvent } from '../../src/log/events.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { DoomedChild, type StepRun } from './flow-kills/doomed-child.ts'
import { forkOf, type KillPoint, leaseMs } from './flow-kills/order.ts'
import { expectedResult, stepNames, tenSteps } from './flow-kills/ten-steps.ts'
import { untilNobodyIsConnected } from './harness/client-backends.ts'
import { progress, runCommand } from './harness/command.ts'
import { examined } from './harness/examined.ts'
import { openStore, type Target } from './harness/target.ts'
import { type Finding, judge, type Verdict } from './harness/verdict.ts'
import { type Place, withTarget } from './harness/with-target.ts'

const patienceMs = 20_000

/**
 * A process that runs a session of ten steps is killed at every place it passes; another goes on. The session must end as if nothing had been: each
 * step ran at least once, always with the same id, and exactly once where its outcome was in the log.
 */
export async function flowKills(
  options: Place & { readonly seed: number; readonly rounds?: number },
): Promise<Verdict> {
  const { store, seed, rounds } = options
  const find = (): Promise<Finding> =>
    withTarget(options, (target) => examined(target, killEverywhere(target, seed, rounds)))
  return judge({ program: 'flow-kills', store, seed }, [{ name: 'kill', find }])
}

async function killEverywhere(target: Target, seed: number, rounds: number | undefined): Promise<Finding> {
  const clean = await new DoomedChild(target).live({ session: 'clean', kill: null })
  if (!clean.done) throw new Error(`the clean run did not end: ${clean.complaint}`)
  const violations = complaintsOf(clean.done.result, clean.ran, 'clean')
  const points = Object.entries(clean.done.passings).flatMap(([failpoint, count]) =>
    Array.from({ length: count }, (_, index): KillPoint => ({ failpoint, passing: index + 1 })),
  )
  const chosen = chosenFrom(points, rounds ?? points.length, seed)
  const counts = { places: points.length, kills: 0, notReached: 0, ranTwice: 0, outcomesKept: 0 }
  const hit = new Set<string>()
  let next = new DoomedChild(target)
  try {
    for (const [round, kill] of chosen.entries()) {
      const child = next
      next = new DoomedChild(target)
      const found = await oneLife(target, child, `s${round}`, kill)
      violations.push(...found.violations)
      if (found.wasKilled) hit.add(kill.failpoint)
      counts.kills += found.wasKilled ? 1 : 0
      counts.notReached += found.wasKilled ? 0 : 1
      counts.ranTwice += found.ranTwice
      counts.outcomesKept += found.outcomesKept
      if ((round + 1) % 20 === 0) progress(`flow-kills ${target.store}: ${round + 1} of ${chosen.length} kills`)
    }
  } finally {
    await next.dismiss()
  }
  const missing = [...new Set(chosen.map(({ failpoint }) => failpoint))].filter((name) => !hit.has(name))
  const notExercised = missing.map((name) => `no process was killed at '${name}'`)
  if (rounds === undefined) {
    const neverPassed = flowFailpoints.filter((name) => !points.some(({ failpoint }) => failpoint === name))
    notExercised.push(...neverPassed.map((name) => `'${name}' was never passed`))
    if (counts.ranTwice === 0) notExercised.push('no step was interrupted')
  }
  // Grouped commits and polls make a place or two come and go.
  if (counts.notReached > chosen.length / 10) notExercised.push(`${counts.notReached} places were not reached again`)
  return { violations, notExercised, counts }
}

/** Evenly spread over all places, beginning somewhere. */
function chosenFrom(points: readonly KillPoint[], rounds: number, seed: number): KillPoint[] {
  const stride = points.length / Math.min(rounds, points.length)
  return Array.from({ length: Math.min(rounds, points.length) }, (_, n) => {
    return points[Math.floor(n * stride + seed) % points.length]!
  })
}

async function oneLife(target: Target, child: DoomedChild, id: string, kill: KillPoint) {
  const place = `${id}, killed at ${kill.failpoint} ${kill.passing}`
  const life = await child.live({ session: id, kill })
  await untilNobodyIsConnected(target)
  const store = await openStore(target)
  const left = await store.streamEvents(id)
  const known = stepsWithOutcome(left)
  const ranLater: StepRun[] = []
  const flow = tenSteps((step, stepId) => void ranLater.push({ step, id: stepId }))
  const runtime = createRuntime({ agents: [], flows: [flow], store, logger: silentLogger, leaseMs, pollMs: 10 })
  try {
    const session = runtime.flow(flow, id)
    if (left.length === 0) await session.start(null)
    for (const until = Date.now() + patienceMs; (await session.status()) !== 'done' && Date.now() < until; ) {
      if ((await session.status()) === 'waiting') await session.resume('go on').catch(ignoreLateAnswer)
      await sleep(5)
    }
    const events = await session.events()
    const violations = [
      ...(life.complaint === '' ? [] : [`${place}: ${life.complaint}`]),
      ...complaintsOf(
        { status: await session.status(), result: await session.result() },
        [...life.ran, ...ranLater],
        place,
      ),
      ...ranLater
        .filter(({ step }) => known.has(step))
        .map(({ step }) => `${place}: step ${step} ran again after its outcome`),
      ...(isPrefix(left, events) ? [] : [`${place}: what was in the log has changed`]),
      ...(await complaintsOfFork(runtime, store, forkOf(id), place)),
    ]
    const runs = stepNames.map((step) => [...life.ran, ...ranLater].filter((run) => run.step === step).length)
    return {
      violations,
      wasKilled: life.wasKilled,
      ranTwice: runs.filter((n) => n > 1).length,
      outcomesKept: known.size,
    }
  } finally {
    await runtime.close()
    await store.close()
  }
}

/** A fork is whole or not there; one that was not continued is dormant, and goes on when it is. All that waits is in the inbox, and nothing else is. */
async function complaintsOfFork(
  runtime: Pick<Runtime, 'flow'>,
  store: Store,
  id: string,
  place: string,
): Promise<string[]> {
  const fork = runtime.flow('ten-steps', id)
  const status = await fork.status()
  if (status !== 'none') {
    if (status === 'dormant') await fork.continue()
    const signal = AbortSignal.timeout(patienceMs)
    const outcome = await fork.outcome({ signal }).catch(String)
    const expected = { status: 'waiting', tag: 'go on?' }
    if (!isDeepStrictEqual(outcome, expected)) return [`${place}: its fork stands at ${JSON.stringify(outcome)}`]
  }
  const waiting = (await store.pendingInbox({ limit: 1_000 })).map(({ conversationId }) => conversationId)
  const isListed = waiting.includes(id)
  await fork.delete()
  return isListed === (status !== 'none') && !waiting.includes(id.replace(/-fork$/, ''))
    ? []
    : [`${place}: the inbox has ${waiting.join(', ') || 'nothing'}, and its fork was ${status}`]
}

function complaintsOf(standing: unknown, ran: readonly StepRun[], place: string): string[] {
  const expected = { status: 'done', result: expectedResult }
  const complaints = isDeepStrictEqual(standing, expected) ? [] : [`${place}: it ended as ${JSON.stringify(standing)}`]
  for (const step of stepNames) {
    const runs = ran.filter((run) => run.step === step)
    if (runs.length === 0) complaints.push(`${place}: step ${step} never ran`)
    if (runs.length > 2) complaints.push(`${place}: step ${step} ran ${runs.length} times`)
    if (new Set(runs.map((run) => run.id)).size > 1) complaints.push(`${place}: step ${step} had several ids`)
  }
  return complaints
}

/** Over all its records. */
function stepsWithOutcome(events: readonly LogEvent[]): Set<string> {
  const names = new Set<string>()
  for (let length = 1; length <= events.length; length++) {
    const state = foldFlow(events.slice(0, length))!
    const last = events[length - 1]!
    if (last.type !== 'flow_outcome') continue
    const op = state.ops[last.content.position - 1]!.op
    if (op.kind === 'step') names.add(op.name)
  }
  return names
}

function isPrefix(left: readonly LogEvent[], events: readonly LogEvent[]): boolean {
  return isDeepStrictEqual(events.slice(0, left.length), left)
}

/** It may have gone on between the look and the answer. */
function ignoreLateAnswer(error: { code?: string }): void {
  if (error.code !== 'not_suspended') throw error
}

await runCommand(import.meta, flowKills)
