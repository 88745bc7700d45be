import { settle } from '../../log/settle.ts'
import type { ConversationState } from '../../log/state.ts'
import { transcript } from '../../prompt/render/transcript.ts'
import { bound, loadWhole } from '../../store/working-sets.ts'
import { changeFor } from '../child/change-for.ts'
import { askBeside } from './ask-beside.ts'
import type { TurnContext } from './turn-context.ts'

const instructions =
  'Give this conversation a title of at most six words, in its own language. Answer with the title only.'
const longestTitle = 120
const longestTranscript = 8_000

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
    if (title === '' || !(await record(title, context))) return
    const { agent, channel, scopes, snapshots, workingSets, store, tenant, id } = context
    if (!snapshots) return
    // Of all that is persisted, only a title is announced first.
    if (!channel.isUnused) await channel.refresh()
    const workingSet = await workingSets.loadWhole(store, tenant, id)
    await snapshots.persist('on_title_generated', { agentId: agent.name, conversationId: id, workingSet, scopes })
  } finally {
    memory.isTitling = false
  }
}

/** Empty when there is none. */
function askForTitle(state: ConversationState, context: TurnContext, signal: AbortSignal): Promise<string> {
  const { agent } = context
  const system = agent.title?.instructions ?? instructions
  const question = {
    model: agent.title?.model ?? agent.model,
    system,
    // As text: a prompt with calls in it is refused where no tools are offered.
    text: `${transcript(state.turns, longestTranscript)}\n\n${system}`,
    turnRef: `title/${state.turns.findLast((turn) => turn.end)?.turnId ?? ''}`,
    seen: state.lastSeq,
    read: titleFrom,
    onFailure: 'no title could be generated',
  }
  return askBeside(question, context, signal)
}

/** False when there is one already, or nothing to name any more. */
async function record(title: string, { store, id }: TurnContext): Promise<boolean> {
  for (;;) {
    const { state: now } = await loadWhole(store, id, bound)
    const events = settle(now, { type: 'title', title })
    if (events.length === 0 || now.lastSeq === 0) return false
    if ((await store.commit(id, { ...changeFor(events, now), expectedSeq: now.lastSeq })).ok) return true
  }
}

function titleFrom(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/^["'«]+|["'»]+$/g, '')
    .slice(0, longestTitle)
}
