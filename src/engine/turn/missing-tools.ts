import { ToolMissingError } from '../../base/errors/runtime-errors.ts'
import { callPhase } from '../../log/call-phase.ts'
import { isDue } from '../../log/next-step.ts'
import { type CallState, type ConversationState, openTurn } from '../../log/state.ts'
import type { TurnContext } from './turn-context.ts'

type Context = Pick<TurnContext, 'id' | 'agent' | 'toolWaitMs'>

/** Leaves calls to other nodes whose tools are not in the code of this one, as in the middle of a deploy. */
export class MissingTools {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  /** The calls of the open turn that would run now, or start a child agent, and are not for this node. Empty once it has waited for long enough. */
  leftToOthers(state: ConversationState): readonly CallState[] {
    const { agent, toolWaitMs } = this.#context
    const turn = openTurn(state)
    if (!turn) return []
    const lacksTool = ({ name, executor }: CallState) => agent.toolSet.get(name)?.executor !== executor
    return turn.calls.filter((call) => lacksTool(call) && needsTool(call) && toolWaitMs(call.callId) > 0)
  }

  /** Throws `ToolMissingError` where there are such calls: nothing else can go on. */
  leave([call]: readonly CallState[]): void {
    const { id, agent, toolWaitMs } = this.#context
    if (call) throw new ToolMissingError(id, agent.name, call, toolWaitMs(call.callId))
  }
}

function needsTool(call: CallState): boolean {
  const phase = callPhase(call)
  return phase.type === 'unasked' ? phase.kind === 'sub_agent' : call.executor === 'server' && isDue(call, phase)
}
