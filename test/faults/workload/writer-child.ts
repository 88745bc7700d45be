import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../../src/store/store.ts'
import { childInput, dieWithParent, onParentLine, say } from '../harness/child-channel.ts'
import { describeFailure } from '../harness/failure.ts'
import { type SeededRandom, seededRandom } from '../harness/seeded-random.ts'
import { openStore, type Target } from '../harness/target.ts'
import type { WriterMessage } from './ledger.ts'
import {
  advance,
  type Lane,
  newLane,
  owned,
  type PlannedCommit,
  planLaneCommit,
  planSharedCommit,
} from './plan-commit.ts'

export type WriterInput = {
  readonly target: Target
  readonly seed: number
  /** Begins the name of every commit and conversation. */
  readonly prefix: string
  readonly lanes: number
  readonly padBytes: number
  /** Undefined: until it is told to stop, or killed. */
  readonly volleys?: number
}

const input = childInput<WriterInput>()
const pauseAfterFailureMs = 20
let isStopped = false
let commits = 0
let conversations = 0

dieWithParent()
onParentLine((line) => {
  if (line === 'stop') isStopped = true
})
const store = await openUntilItWorks()
const random = seededRandom(input.seed)
const lanes = Array.from({ length: input.lanes }, () => newLane(nextConversation()))
const shared = `${input.prefix}.shared`
say<WriterMessage>({ type: 'ready' })
// Volleys: several conversations commit in the same tick, so that a driver which groups has something to group.
for (let volley = 0; !isStopped && volley < (input.volleys ?? Number.POSITIVE_INFINITY); volley++) {
  const laneSteps = lanes.map((lane, index) => (random.chance(0.6) ? laneStep(lane, index) : null))
  const sharedSteps = Array.from({ length: random.int(0, 2) }, () => sharedStep())
  await Promise.all([...laneSteps, ...sharedSteps])
}
await store.close()
say<WriterMessage>({ type: 'stopped' })
process.exit(0)

/** A store may refuse at once or with its first use; both are told, and both are tried again. */
async function openUntilItWorks(): Promise<Store> {
  for (;;) {
    let opened: Store | null = null
    try {
      opened = await openStore(input.target)
      await opened.getConversation('nobody')
      return opened
    } catch (error) {
      say<WriterMessage>({ type: 'not_opened', failure: describeFailure(error) })
      await opened?.close().catch(() => {})
      if (isStopped) process.exit(0)
      await sleep(pauseAfterFailureMs)
    }
  }
}

async function laneStep(lane: Lane, index: number): Promise<void> {
  const planned = planLaneCommit(random, lane, nextCommit(), input.padBytes)
  const outcome = await carryOut(planned, random)
  if (outcome === 'done' && planned.expects === 'ok') lanes[index] = await ownedAgain(advance(lane, planned))
  // Whether it was written is unknown, so what the log's end is, too.
  if (outcome === 'unknown') lanes[index] = newLane(nextConversation())
}

/** A lease that was not acknowledged is asked for again after the next commit. */
async function ownedAgain(lane: Lane): Promise<Lane> {
  return owned(store, lane).catch(() => lane)
}

async function sharedStep(): Promise<void> {
  await carryOut(planSharedCommit(random, shared, nextCommit(), input.padBytes), random)
}

/** A change with a key is sent until there is an answer, and sometimes once more: it must not happen twice. */
async function carryOut(planned: PlannedCommit, chance: SeededRandom): Promise<'done' | 'not done' | 'unknown'> {
  const hasKey = planned.change.key !== undefined
  const sendsAgain = hasKey && chance.chance(0.2)
  say<WriterMessage>({ type: 'begin', planned })
  let outcome = await attempt(planned)
  while (hasKey && outcome !== 'done' && !isStopped) {
    say<WriterMessage>({ type: 'repeat', commit: planned.commit })
    outcome = await attempt(planned)
  }
  if (sendsAgain && outcome === 'done') {
    say<WriterMessage>({ type: 'repeat', commit: planned.commit })
    await attempt(planned)
  }
  return outcome
}

async function attempt({ commit, conversation, change }: PlannedCommit): Promise<'done' | 'not done' | 'unknown'> {
  try {
    const result = await store.commit(conversation, change)
    say<WriterMessage>({ type: 'answer', commit, result })
    return 'done'
  } catch (error) {
    const failure = describeFailure(error)
    say<WriterMessage>({ type: 'failed', commit, failure })
    await sleep(pauseAfterFailureMs)
    return failure.isAmbiguous ? 'unknown' : 'not done'
  }
}

/** Delimited, so that no name is part of another. */
function nextCommit(): string {
  commits += 1
  return `@${input.prefix}.${commits}@`
}

function nextConversation(): string {
  conversations += 1
  return `${input.prefix}.lane${conversations}`
}
