import { ModelChoiceError } from '../../base/errors/definition-errors.ts'
import { isLanguageModel, type LanguageModel } from '../../define/language-model.ts'
import type { Scope } from '../../define/scope.ts'
import { systemScope } from '../../define/scope.ts'
import { type Turn, turnOf } from '../../define/turn.ts'
import { describe, runWithin } from './run-hooks.ts'
import type { TurnContext } from './turn-context.ts'

/** The agent's model for the next call of this turn. Rejects with `ModelChoiceError` when the agent's function does not give one. */
export async function chooseModel({ agent, node, memory }: TurnContext, turn: Turn): Promise<LanguageModel> {
  const { model: choose, hookTimeoutMs: timeoutMs } = agent
  if (typeof choose !== 'function') return choose
  const failed = (problem: string, cause?: unknown) => new ModelChoiceError(agent.name, problem, { cause })
  const within = { timeoutMs, clock: node.clock, tooLate: failed(`took longer than ${timeoutMs} ms`) }
  const model = await runWithin(within, turn, async (given) => {
    try {
      const chosen: unknown = await choose(given)
      return isLanguageModel(chosen) ? chosen : null
    } catch (cause) {
      throw failed(`threw ${describe(cause)}`, cause)
    }
  })
  if (!model) throw failed('returned something that is not a language model')
  memory.model = model
  return model
}

/** The agent's model for calls outside turns: the one its last call in this process was made with, else one for a turn of the system. */
export async function modelOutsideTurns(context: TurnContext): Promise<LanguageModel> {
  const { agent, memory, ref, scopes } = context
  if (typeof agent.model !== 'function') return agent.model
  if (memory.model) return memory.model
  const scope = (await scopes.ofSystem()) ?? (systemScope() as Scope)
  return await chooseModel(context, turnOf({ scope, agent: agent.name, conversationId: ref.id }))
}
