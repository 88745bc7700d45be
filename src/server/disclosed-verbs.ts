import type { Answered, CallRef } from '../runtime/answer-call.ts'
import type { Conversation, TurnHandle } from '../runtime/conversation.ts'
import type { FlowSession } from '../runtime/flow-session.ts'
import type { Inspection } from '../runtime/inspect.ts'
import type { Verbs } from '../runtime/runtime.ts'
import { eventBefore } from '../runtime/shown-events.ts'
import {
  type Disclosure,
  discloseEvents,
  discloseFlowOutcome,
  discloseMessages,
  discloseOutcome,
  discloseResolution,
  discloseSaid,
  discloseSnapshot,
  discloseStanding,
  discloseTurn,
  discloseView,
  discloseWatched,
} from '../view/disclose.ts'

/**
 * The only verbs that routes get: what they read has passed `view/disclose.ts`. Each member is listed, so that a new verb does not compile before it
 * is said what may leave by it.
 */
export function disclosedVerbs(verbs: Verbs, disclosure: Disclosure): Verbs {
  return {
    agents: verbs.agents,
    conversation: ((id: string, options?: { agent: string }) =>
      conversationOf(
        options ? verbs.conversation(id, options) : verbs.conversation(id),
        disclosure,
      )) as Verbs['conversation'],
    flow: ((flow: string, id: string) => sessionOf(verbs.flow(flow, id), disclosure)) as Verbs['flow'],
    resolve: async (id, call, value, options) =>
      answered(await verbs.resolve(id, call, value, options), call, disclosure),
    // Records and pending calls hold nothing that failed: `listed` keeps to itself what is wrong with a record.
    conversations: (filter) => verbs.conversations(filter),
    inbox: (page) => verbs.inbox(page),
    unquarantine: (id) => verbs.unquarantine(id),
    inspect: (id) => inspectionOf(verbs.inspect(id), disclosure),
  }
}

function conversationOf(handle: Conversation, disclosure: Disclosure): Conversation {
  const turnOf = (turn: TurnHandle): TurnHandle => ({
    turnId: turn.turnId,
    outcome: async () => discloseOutcome(await turn.outcome(), disclosure),
    get textStream() {
      return turn.textStream
    },
  })
  return {
    id: handle.id,
    send: (async (message, options) => turnOf(await handle.send(message, options))) as Conversation['send'],
    outcome: async () => discloseOutcome(await handle.outcome(), disclosure),
    turn: (turnId) => turnOf(handle.turn(turnId)),
    async cancel(options) {
      const outcome = await handle.cancel(options)
      return outcome && discloseOutcome(outcome, disclosure)
    },
    approve: async (call, options) => answered(await handle.approve(call, options), call, disclosure),
    deny: async (call, options) => answered(await handle.deny(call, options), call, disclosure),
    answer: async (call, value, options) => answered(await handle.answer(call, value, options), call, disclosure),
    view: async () => discloseView(await handle.view(), disclosure),
    async history(page) {
      const { messages, ...rest } = await handle.history(page)
      return { ...rest, messages: discloseMessages(messages, disclosure) }
    },
    async events(range) {
      const events = await handle.events(range)
      const before = disclosure.withheld ? null : await eventBefore(handle.events, events)
      return discloseEvents(events, disclosure, before)
    },
    async *watch(options) {
      for await (const event of handle.watch(options)) yield discloseWatched(event, disclosure)
    },
    // Model calls are refused as a whole to whoever may not read prompts.
    modelCalls: () => handle.modelCalls(),
    explain: (modelCall) => handle.explain(modelCall),
    fork: (async (options) => conversationOf(await handle.fork(options), disclosure)) as Conversation['fork'],
    forks: (page) => handle.forks(page),
    lineage: () => handle.lineage(),
    continue: () => handle.continue(),
    stop: () => handle.stop(),
    delete: () => handle.delete(),
  }
}

function sessionOf(session: FlowSession<unknown>, disclosure: Disclosure): FlowSession<unknown> {
  return {
    id: session.id,
    start: async (input, options) => discloseStanding(await session.start(input, options), disclosure),
    resume: async (value, options) => discloseStanding(await session.resume(value, options), disclosure),
    continue: async (options) => discloseStanding(await session.continue(options), disclosure),
    status: () => session.status(),
    pending: () => session.pending(),
    suspensions: () => session.suspensions(),
    result: () => session.result(),
    async record() {
      const record = await session.record()
      return record && { ...record, outcomes: record.outcomes.map((one) => discloseFlowOutcome(one, disclosure)) }
    },
    events: async (range) => discloseEvents(await session.events(range), disclosure),
    fork: async (newId, options) => sessionOf(await session.fork(newId, options), disclosure),
    forks: (page) => session.forks(page),
    lineage: () => session.lineage(),
    delete: () => session.delete(),
  }
}

function inspectionOf(inspection: Inspection, disclosure: Disclosure): Inspection {
  return {
    ref: inspection.ref,
    record: () => inspection.record(),
    // Model calls are refused as a whole to whoever may not read prompts.
    modelCalls: () => inspection.modelCalls(),
    explain: (turnRef) => inspection.explain(turnRef),
    snapshot: async () => discloseSnapshot(await inspection.snapshot(), disclosure),
    async turns(page) {
      const { turns, ...rest } = await inspection.turns(page)
      return {
        ...rest,
        turns: turns.map(({ turn, said }) => ({ turn: discloseTurn(turn, disclosure), said: said.map(discloseSaid) })),
      }
    },
    file: (blob) => inspection.file(blob),
  }
}

function answered(answer: Answered, call: CallRef, disclosure: Disclosure): Answered {
  if (answer.accepted) return answer
  const callId = typeof call === 'string' ? call : call.callId
  return { ...answer, resolution: discloseResolution(answer.resolution, callId, disclosure) }
}
