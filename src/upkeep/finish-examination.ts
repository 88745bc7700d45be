import { isDeepStrictEqual } from 'node:util'
import { childResult, unrecordable } from '../engine/child/child-calls.ts'
import { type FlowState, openOps, parkedStatus } from '../engine/flow/flow-state.ts'
import { childCalls, childIdOf, childTurnIdOf } from '../log/child-call.ts'
import { encode } from '../log/codec.ts'
import { type FsmState, fsmStateOf, saysTheSame, statusOf } from '../log/fsm-state.ts'
import { nextStep } from '../log/next-step.ts'
import { type ConversationState, findTurn, openTurn } from '../log/state.ts'
import { decoded } from '../store/rows.ts'
import type { Rebuilt, UpkeepReader } from '../store/upkeep.ts'
import type { ConversationExaminer, LogFacts } from './examine-conversation.ts'
import { isWhole } from './log-fold.ts'

/** Finishes the examination of a conversation after its last row, with its parent and children. Returns what its columns must be. */
export async function finishExamination(
  reader: UpkeepReader,
  examiner: ConversationExaminer,
  agents: ReadonlySet<string> | null = null,
): Promise<Rebuilt['columns']> {
  const { tenant, parent } = examiner
  const facts = await examiner.end(async (hash) => (await reader.blob(tenant, hash)) !== null)
  if (parent?.callId !== undefined && !(await reader.conversation(tenant, parent.id))) {
    examiner.add('parent_missing', `it is a child agent of '${parent.id}', which is gone`)
  }
  const { folded } = facts
  await examiner.ignored.report(reader, examiner, folded)
  const isOwing = folded?.kind === 'conversation' && (await owesFamily(reader, examiner, folded.state))
  const columns = checkColumns(examiner, facts, {
    now: reader.now,
    lastEpoch: reader.lastEpoch,
    isOwing,
    agents,
  })
  checkUnlogged(examiner, columns)
  return columns
}

/** Values that no log can restore must at least be readable. */
function checkUnlogged(examiner: ConversationExaminer, { title, fsmState }: Rebuilt['columns']): void {
  const { conversation } = examiner
  if (title === undefined) examiner.mustBeReadable('title', conversation.title)
  if (fsmState === undefined) examiner.mustBeReadable('cached state', conversation.fsmState)
}

/**
 * Compares a conversation with its parent and its child agents. True when it still has to act for one of them: start a child, report its result to the parent,
 * or end because its call has ended.
 */
async function owesFamily(
  reader: UpkeepReader,
  examiner: ConversationExaminer,
  state: ConversationState,
): Promise<boolean> {
  return (await owesParent(reader, examiner, state)) || (await owesChild(reader, examiner, state))
}

async function owesParent(
  reader: UpkeepReader,
  examiner: ConversationExaminer,
  state: ConversationState,
): Promise<boolean> {
  const { tenant, parent, conversation } = examiner
  const turn = parent?.callId === undefined ? null : findTurn(state, childTurnIdOf(parent.callId))
  if (!parent?.callId || !turn || conversation.agent === null) return false
  const call = await reader.call(tenant, parent.callId)
  if (call?.conversationId !== parent.id) return false
  const isPending = call.status === 'pending'
  if (!turn.end) return !isPending && !turn.cancel
  if (isPending) return true
  const hasResult = call.status === 'resolved' || call.status === 'errored'
  // A call that ended in another way cancels the child, which then has nothing to report.
  if (hasResult && turn.end.status !== 'cancelled' && isWhole(turn)) {
    const recorded = call.result === null ? null : decoded(call.result)
    const result = childResult(conversation.agent, turn, turn.end)
    if (!isDeepStrictEqual(recorded, result) && !isUnrecordable(recorded)) {
      examiner.add(
        'parent_disagrees',
        `its turn '${turn.turnId}' ${turn.end.status}, and call '${parent.callId}' of '${parent.id}' has another result`,
      )
    }
  }
  return false
}

/** A result too large for the parent's log is recorded as an error. */
function isUnrecordable(recorded: unknown): boolean {
  return (
    typeof recorded === 'object' &&
    recorded !== null &&
    'error' in recorded &&
    String(recorded.error).startsWith(unrecordable)
  )
}

/** A child agent that its parent waits for and that was never started. */
async function owesChild(
  reader: UpkeepReader,
  { tenant }: ConversationExaminer,
  state: ConversationState,
): Promise<boolean> {
  for (const { callId } of childCalls(state)) {
    const child = await reader.conversation(tenant, childIdOf(callId))
    if (!child || child.lastSeq === 0) return true
  }
  return false
}

type Columns = { -readonly [Name in keyof Rebuilt['columns']]: Rebuilt['columns'][Name] }

/** Longer than any wake-up is delayed, with room for clocks that differ. */
const soonMs = 60_000
const longestLeaseMs = 86_400_000

type Surroundings = {
  readonly now: number
  readonly lastEpoch: number
  /** Whether its parent or a child agent still needs something from it. */
  readonly isOwing: boolean
  /** The agents that have code; null if that is not known. */
  readonly agents: ReadonlySet<string> | null
}

/** Checks the columns of a conversation against its log, reports those that differ, and returns what they must be. */
function checkColumns(
  examiner: ConversationExaminer,
  facts: LogFacts,
  { now, lastEpoch, isOwing, agents }: Surroundings,
): Columns {
  const { conversation, parent } = examiner
  const columns: Columns = {}
  const set = <Name extends keyof Columns>(
    name: Name,
    code: Parameters<ConversationExaminer['add']>[0],
    value: Columns[Name],
    problem: string,
  ): void => {
    examiner.add(code, problem)
    columns[name] = value
  }

  checkLease(examiner, now, lastEpoch)
  if (conversation.lastSeq !== facts.lastSeq) {
    set(
      'lastSeq',
      'last_seq_differs',
      facts.lastSeq,
      `its row ends at ${conversation.lastSeq}, its log at ${facts.lastSeq}`,
    )
  }
  const childOf = parent?.callId === undefined ? null : parent.id
  const isParentRead = parent !== null || conversation.parent === null
  if (isParentRead && conversation.childOf !== childOf) {
    set(
      'childOf',
      'child_of_differs',
      childOf,
      `it is filed as a child of ${named(conversation.childOf)}, not of ${named(childOf)}`,
    )
  }
  if (conversation.owner === null && facts.opener !== null) {
    set('owner', 'owner_missing', facts.opener, `its row names no owner, but '${facts.opener}' opened it`)
  }
  const { folded } = facts
  if (!folded) return columns
  if (facts.lastSeq > 0 && conversation.kind !== folded.kind) {
    set(
      'kind',
      'kind_differs',
      folded.kind,
      `it is filed as a ${conversation.kind}, its log is that of a ${folded.kind}`,
    )
  }
  const title = titleOf(examiner, facts)
  if (title !== undefined && conversation.title !== title) {
    set('title', 'title_differs', title, `its title is ${conversation.title}, the log says ${title}`)
  }
  const missing = folded.kind === 'conversation' ? openTurn(folded.state)?.scopeMissing : undefined
  if (missing) examiner.add('scope_missing', `it waits for the scope of '${missing.who}', which could not be restored`)
  const fsm = folded.kind === 'flow' ? flowFsmOf(examiner) : fsmOf(examiner, facts, folded.state)
  if (fsm !== 'as it is') {
    set(
      'fsmState',
      'fsm_state_differs',
      fsm && encode(fsm),
      `its cached state is ${conversation.fsmState}, the log says ${encode(fsm)}`,
    )
  }
  if (folded.kind === 'conversation' && isWronglyIdle(conversation.idleSeq, folded.state)) {
    set(
      'idleSeq',
      'fsm_state_differs',
      0,
      `its row says that no turn is open at ${conversation.idleSeq}, but the log has one`,
    )
  }
  const cached = fsm === 'as it is' ? examiner.cached : fsm
  const allowed =
    folded.kind === 'flow' ? flowStatuses(examiner, folded.state) : conversationStatuses(examiner, facts, cached)
  if (!allowed.includes(conversation.status)) {
    set('status', 'status_differs', allowed[0]!, `its status is '${conversation.status}', the log says '${allowed[0]}'`)
  }
  const wakeAt = folded.kind === 'flow' ? flowWake(folded.state, facts) : conversationWake(folded.state, facts, isOwing)
  const isLeased = (conversation.leaseUntil ?? 0) > now
  if (wakeAt !== null && !conversation.isDormant && !isLeased) {
    const isLate = conversation.wakeAt === null || conversation.wakeAt > Math.max(now, wakeAt) + soonMs
    if (isLate) {
      const when = conversation.wakeAt === null ? 'nothing wakes it' : `it is only woken at ${conversation.wakeAt}`
      set('wakeAt', 'wake_up_missing', wakeAt, `it has had work to do since ${wakeAt}, but ${when}`)
    }
    const { agent } = conversation
    if (agent === null) examiner.add('agent_missing', 'it has work to do, but names no agent')
    else if (agents && !agents.has(agent)) {
      examiner.add('agent_unknown', `it has work to do for '${agent}', which the config does not have`)
    }
  }
  return columns
}

/** The encoded title that the log gives, null where it removed it; undefined where it says nothing. A fork keeps its source's title until it gets its own. */
function titleOf({ forkedAt }: ConversationExaminer, { title, folded }: LogFacts): string | null | undefined {
  if (title && title.seq > (forkedAt ?? 0)) return title.text === null ? null : encode(title.text)
  const seeded = folded?.kind === 'conversation' && !title ? folded.state.title : null
  return forkedAt === null && seeded !== null ? encode(seeded) : undefined
}

/** The cache may lag behind events from outside. It may lag behind the owner's events only while it still says the same. */
function fsmOf(
  { conversation, cached }: ConversationExaminer,
  { lastOwned, fsmAtCached, fsmAtOwned }: LogFacts,
  state: ConversationState,
): FsmState | null | 'as it is' {
  const isUpToDate = cached !== null && (cached.lastSeq >= lastOwned || (fsmAtOwned && saysTheSame(cached, fsmAtOwned)))
  if (isUpToDate && fsmAtCached && isCacheOf(cached, fsmAtCached)) return 'as it is'
  if (conversation.fsmState === null && lastOwned === 0) return 'as it is'
  return fsmStateOf(state)
}

/** Rows of older versions have no `lastMessage` and no `tokens`, and neither has a state whose message was too long to keep. Nothing is decided by them. */
function isCacheOf(
  { lastMessage: cached, tokens: _, ...row }: FsmState,
  { lastMessage, tokens: __, ...state }: FsmState,
): boolean {
  return isDeepStrictEqual(row, state) && (!cached || !lastMessage || isDeepStrictEqual(cached, lastMessage))
}

/** Whether a message would wrongly be accepted as if nothing were open. An `idleSeq` before the log's end means nothing. */
function isWronglyIdle(idleSeq: number, state: ConversationState): boolean {
  return idleSeq > 0 && idleSeq === state.lastSeq && fsmStateOf(state).state !== 'idle'
}

/** A session has no cached state. */
function flowFsmOf({ conversation }: ConversationExaminer): null | 'as it is' {
  return conversation.fsmState === null ? 'as it is' : null
}

type Status = ConversationExaminer['conversation']['status']

function conversationStatuses(
  { conversation, forkedAt }: ConversationExaminer,
  { lastWaking }: LogFacts,
  cached: FsmState | null,
): readonly Status[] {
  const written: Status = cached ? statusOf(cached.state) : 'idle'
  const isWoken = lastWaking !== null && lastWaking.seq > (cached?.lastSeq ?? 0)
  if (!isWoken || conversation.isDormant) return [written]
  // A call that expired in an untouched fork did not wake it.
  return forkedAt === null ? ['active'] : ['active', written]
}

function flowStatuses({ conversation, forkedAt }: ConversationExaminer, state: FlowState | null): readonly Status[] {
  if (!state) return [conversation.status]
  const parked = parkedStatus(state)
  // A fork that was not continued keeps the status it was made with.
  if (forkedAt !== null && conversation.isDormant && !state.ended) return ['idle', 'suspended']
  const isParked = conversation.wakeAt === null && conversation.leaseHolder === null
  if (isParked) return [parked]
  return [parked, 'active']
}

/** Since when the conversation has had work to do; null when it has none. */
function conversationWake(state: ConversationState, facts: LogFacts, isOwing: boolean): number | null {
  const isParked = nextStep(state, new Set()).type === 'park'
  return isParked && !isOwing ? null : (facts.lastWaking?.at ?? facts.lastAt)
}

function flowWake(state: FlowState | null, facts: LogFacts): number | null {
  if (!state || state.ended) return null
  const open = openOps(state)
  if (open.length === 0) return facts.lastAt
  const dueAt = open.flatMap(({ op, at }) => {
    if (op.kind === 'suspend' || op.kind === 'request') return []
    return [op.kind === 'sleep' ? at + op.ms : at]
  })
  return dueAt.length === 0 ? null : Math.min(...dueAt)
}

function checkLease(examiner: ConversationExaminer, now: number, lastEpoch: number): void {
  const { leaseHolder, leaseEpoch, leaseUntil, quarantinedAt } = examiner.conversation
  if (quarantinedAt !== null) {
    examiner.add('quarantined', 'no process works on it, because the last ones that did died')
    return
  }
  const parts = [leaseHolder, leaseEpoch, leaseUntil]
  const isHalf = parts.some((part) => part === null) && parts.some((part) => part !== null)
  if (isHalf) examiner.add('lease_absurd', 'its lease has no holder, no epoch or no end')
  else if ((leaseEpoch ?? 0) > lastEpoch) {
    examiner.add('lease_absurd', `its lease has epoch ${leaseEpoch}, but the highest epoch granted is ${lastEpoch}`)
  } else if ((leaseUntil ?? 0) > now + longestLeaseMs) {
    examiner.add('lease_absurd', `its lease runs until ${leaseUntil}, more than a day from now`)
  }
}

function named(id: string | null): string {
  return id === null ? 'no conversation' : `'${id}'`
}
