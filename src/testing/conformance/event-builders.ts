import type { Json, JsonObject } from '../../base/json.ts'
import type {
  AssistantPart,
  CallResult,
  InterruptedEnd,
  NewEvent,
  Resolution,
  Suspension,
  SuspensionKind,
  ToolCallContent,
  UserPart,
} from '../../log/events.ts'
import type { FsmState } from '../../log/fsm-state.ts'
import type { Change, ResolveCall } from '../../store/change.ts'
import type { Store, TenantStore } from '../../store/store.ts'

type Event<Type extends NewEvent['type']> = Extract<NewEvent, { type: Type }>

export function userMsg(text = 'hello', turnId = 'turn-1', options: JsonObject = {}): Event<'user_msg'> {
  return userMsgOf([{ type: 'text', text }], turnId, options)
}

export function userMsgOf(parts: readonly UserPart[], turnId = 'turn-1', options: JsonObject = {}): Event<'user_msg'> {
  return { type: 'user_msg', content: { turnId, message: { parts }, options, who: 'ann' } }
}

export function assistantMsg(
  parts: readonly AssistantPart[] = [{ type: 'text', text: 'hi' }],
  { turnId = 'turn-1', messageId = 'message-1', seen = 1 } = {},
): Event<'assistant_msg'> {
  const model = { provider: 'test', modelId: 'test-1' }
  const usage = { inputTokens: 3, outputTokens: 5 }
  return {
    type: 'assistant_msg',
    content: { turnId, messageId, seen, parts, model, usage, finishReason: 'stop', status: 'complete' },
  }
}

export function toolCall(callId: string, content: Partial<ToolCallContent> = {}): Event<'tool_call'> {
  return {
    type: 'tool_call',
    content: {
      turnId: 'turn-1',
      callId,
      providerCallId: `provider-${callId}`,
      name: 'refund',
      args: { cents: 100 },
      executor: 'server',
      gated: true,
      ifInterrupted: 'report',
      timeoutMs: null,
      expiresInMs: null,
      ...content,
    },
  }
}

export function toolStarted(callId: string, attempt = 1): Event<'tool_started'> {
  return { type: 'tool_started', content: { callId, attempt } }
}

export function suspension(callId: string, content: Partial<Suspension> = {}): Event<'suspension'> {
  return {
    type: 'suspension',
    content: {
      callId,
      round: 1,
      kind: 'approval',
      prompt: 'Pay back?',
      schema: { type: 'boolean' },
      expiresInMs: null,
      ...content,
    },
  }
}

export function resolution(callId: string, content: Partial<Resolution> = {}): Event<'resolution'> {
  return {
    type: 'resolution',
    content: { callId, round: 1, kind: 'approval', status: 'resolved', value: true, who: 'ann', ...content },
  }
}

export function toolResult(
  callId: string,
  result: CallResult & { outcome?: InterruptedEnd } = { ok: true, result: 'done' },
): Event<'tool_result'> {
  return { type: 'tool_result', content: { callId, ...result } }
}

/** An event that carries any JSON value. */
export function carrying(value: Json, callId = 'call-0'): Event<'tool_result'> {
  return toolResult(callId, { ok: true, result: value })
}

export function cancelRequested(turnId = 'turn-1'): Event<'cancel_requested'> {
  return { type: 'cancel_requested', content: { turnId, who: 'ann' } }
}

export function turnEnded(turnId = 'turn-1'): Event<'turn_ended'> {
  return { type: 'turn_ended', content: { turnId, status: 'completed', reason: null } }
}

export function titled(title: string): Event<'titled'> {
  return { type: 'titled', content: { title } }
}

export function deadlineMoved(
  callId: string,
  expiresInMs: number | null,
  { round = 1, who = 'ann' }: { readonly round?: number; readonly who?: string } = {},
): Event<'deadline_moved'> {
  return { type: 'deadline_moved', content: { callId, round, expiresInMs, who } }
}

export function note(name: string, data: Json = { stars: 5 }): Event<'note'> {
  return { type: 'note', content: { name, data, who: 'ann' } }
}

export function seeded(state: Json = { mood: 'good' }): Event<'seeded'> {
  return { type: 'seeded', content: { state } }
}

export function flowStarted(): Event<'flow_started'> {
  return { type: 'flow_started', content: { flow: 'checkout', version: '1', input: null, who: 'ann' } }
}

export function fsmState(state: FsmState['state'], lastSeq: number, pending: Json = []): FsmState {
  return { state, pending, lastSeq }
}

type What = {
  readonly ids: readonly string[]
  readonly callIds?: readonly string[]
  readonly agents?: readonly string[]
  readonly tenant?: string
}

/** Everything a store shows of these conversations, to check that something left them unchanged. */
export async function observe(
  store: Store,
  { ids, callIds = [], agents = ['support'], tenant = 'default' }: What,
): Promise<unknown> {
  const handle = store.forTenant(tenant)
  const conversations = await Promise.all(
    ids.map(async (id) => ({
      record: await handle.getConversation(id),
      events: await handle.streamEvents(id),
      revival: await handle.loadSince(id),
      pending: await handle.pendingToolCalls(id),
      modelCalls: await handle.modelCalls(id),
      snapshot: await handle.getSnapshot(id),
    })),
  )
  const due = await store.dueWork({ agents, limit: 1_000 })
  return {
    conversations,
    calls: await Promise.all(callIds.map((callId) => handle.getToolCall(callId))),
    list: await handle.listConversations(),
    inbox: await handle.pendingInbox(),
    due: due
      .filter((work) => work.tenant === tenant)
      .map((work) => work.id)
      .sort(),
  }
}

type Options = {
  readonly kind?: SuspensionKind
  readonly expiresInMs?: number | null
  readonly agent?: string
  readonly title?: string
}

/** The last `seq` of the log that `suspendCalls` writes: a message, an answer, and two events for each call. */
function seqAfter(callIds: readonly string[]): number {
  return 2 + 2 * callIds.length
}

/** Creates a conversation that waits for answers to these calls, as the runtime leaves it: parked, and not due. */
export async function suspendCalls(
  store: TenantStore,
  id: string,
  callIds: readonly string[],
  { kind = 'approval', expiresInMs = null, agent = 'support', title }: Options = {},
): Promise<void> {
  await store.commit(id, {
    events: [
      userMsg('I want my money back'),
      assistantMsg(callIds.map((callId) => ({ type: 'call', callId }))),
      ...callIds.map((callId) => toolCall(callId, { expiresInMs })),
      ...callIds.map((callId) => suspension(callId, { kind, expiresInMs })),
    ],
    calls: callIds.map((callId) => ({
      id: callId,
      name: 'refund',
      args: { cents: 100 },
      kind,
      prompt: 'Pay back?',
      expiresInMs,
    })),
    conversation: { agent, ...(title === undefined ? {} : { title }) },
    fsmState: fsmState('awaiting_input', seqAfter(callIds), callIds),
    wakeAt: null,
  })
}

/** A change that writes everything a change can, for a conversation that waits for the call 'one' at seq 4. */
export function everythingChange(epoch: number): Change {
  return {
    events: [resolution('one'), suspension('two'), titled('New')],
    key: 'everything',
    epoch,
    expectedSeq: 4,
    resolve: [answer('one')],
    calls: [{ id: 'two', name: 'refund', expiresInMs: 60_000 }],
    conversation: { title: 'New', settings: { colour: 'red' }, status: 'ended' },
    fsmState: fsmState('running', 7),
    wakeAt: 'now',
    lease: 'release',
  }
}

export function answer(callId: string): ResolveCall {
  return { callId, round: 1, status: 'resolved', result: true }
}
