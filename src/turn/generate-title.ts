import { renderContext } from '../context/render-context.ts'
import { uuidV7 } from '../id/uuid-v7.ts'
import { loadWhole } from '../live/working-sets.ts'
import { settle } from '../log/settle.ts'
import type { ConversationState } from '../log/state.ts'
import { modelRef } from '../model/language-model.ts'
import { streamModel } from '../model/stream-model.ts'
import { changeFor } from './change-for.ts'
import type { TurnContext } from './turn-context.ts'

const instructions =
  'Give this conversation a title of at most six words, in its own language. Answer with the title only.'
const longestTitle = 120

/** Whether a turn has ended well and the conversation has no title yet. A title that failed is tried again after the next turn. */
export function needsTitle(state: ConversationState, { agent, memory }: TurnContext): boolean {
  if (agent.title === null || state.title !== null || memory.isTitling) return false
  return state.turns.some((turn) => turn.end?.status === 'completed')
}

/** Names the conversation, beside its turns: nothing waits for it, and it needs no lease, because the log takes one title only. */
export async function generateTitle(
  state: ConversationState,
  context: TurnContext,
  signal: AbortSignal,
): Promise<void> {
  const { memory } = context
  memory.isTitling = true
  try {
    const title = await askForTitle(state, context, signal)
    if (title !== '') await record(title, context)
  } finally {
    memory.isTitling = false
  }
}

async function askForTitle(state: ConversationState, context: TurnContext, signal: AbortSignal): Promise<string> {
  const { agent, clock, id } = context
  const system = agent.title?.instructions ?? instructions
  const models = [agent.title?.model ?? agent.model]
  const ask = { role: 'user' as const, content: [{ type: 'text' as const, text: system }] }
  const message = await streamModel(
    {
      models,
      prompt: (model) => [...renderContext(state, { system, model: modelRef(model) }), ask],
      tools: [],
      settings: {},
      retry: agent.retry,
      signal,
      clock,
      newCallId: () => uuidV7(clock.now()),
    },
    () => {},
  )
  const title = titleFrom(message.parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
  if (message.status !== 'complete' || title === '') {
    if (message.status !== 'aborted')
      context.logger.warn('no title could be generated', { tenant: context.tenant, id, error: message.error })
    return ''
  }
  return title
}

async function record(title: string, { store, id }: TurnContext): Promise<void> {
  for (let isDone = false; !isDone; ) {
    const { state: now } = await loadWhole(store, id)
    const events = settle(now, { type: 'title', title })
    if (events.length === 0 || now.lastSeq === 0) return
    isDone = (await store.commit(id, { ...changeFor(events, now), expectedSeq: now.lastSeq })).ok
  }
}

function titleFrom(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/^["'«]+|["'»]+$/g, '')
    .slice(0, longestTitle)
}
