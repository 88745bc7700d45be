import { withTimeout } from '../../base/clock.ts'
import { isSameJson } from '../../base/json.ts'
import { errorText } from '../../base/redact/redactor.ts'
import type { Agent } from '../../define/agent.ts'
import { readState, stateProblem } from '../../define/agent-state.ts'
import type { Tool } from '../../define/tool.ts'
import { toolNamed } from '../../define/tool-source.ts'
import { validate } from '../../define/validate.ts'
import type { EngineNode } from '../../engine/node.ts'
import { callPhase, effectiveArgs } from '../../log/call-phase.ts'
import { answerSchema, isDue } from '../../log/next-step.ts'
import { type CallState, type ConversationState, openTurn, type Round } from '../../log/state.ts'
import type { ConversationRecord } from '../../store/records.ts'
import type { TenantStore } from '../../store/store.ts'
import { loadReadable } from '../../store/working-sets.ts'
import { wholeCall } from '../answer-call.ts'
import type { Found } from './preflight-finding.ts'

/** The code of this process. */
export type Code = Pick<EngineNode, 'agents' | 'addressable' | 'flows' | 'clock' | 'redact'>

/**
 * Folds a conversation and compares what is open with the code. Runs schemas, and `migrateState` where that is asked for; no other code of the application.
 * A turn that is being cancelled needs no tools.
 */
export async function checkConversation(
  code: Code,
  store: TenantStore,
  { id, agent: name }: Pick<ConversationRecord, 'id' | 'agent'>,
  migrates: boolean,
): Promise<Found[]> {
  const { state, unknownEvent } = await loadReadable(store, id)
  if (unknownEvent) {
    const { type, seq, needs } = unknownEvent
    const message = `Event ${seq} has the type '${type}', which this version does not know: its nodes will leave the conversation alone. Deploy ${needs ?? 'the version that wrote it'} or later.`
    return [{ kind: 'event_unknown', level: 'error', message }]
  }
  const turn = openTurn(state)
  if (!turn && state.turns.every(({ end }) => end)) return []
  const agent = name === null ? undefined : code.agents.get(name)
  if (!agent) {
    const what = name === null ? 'It has no agent.' : `There is no agent '${name}'.`
    const message = `${what} Its turn will wait until a node has the agent. Keep the agent in the code until its conversations have ended.`
    return [{ kind: 'agent_missing', level: 'error', message }]
  }
  const found = await checkState(agent, state, { id, code, migrates })
  if (!turn || turn.cancel) return found
  for (const call of turn.calls) found.push(...(await checkCall(agent, call, { id, code, store })))
  return found
}

type Where = { readonly id: string; readonly code: Code; readonly store: TenantStore }

async function checkCall(agent: Agent, folded: CallState, { id, code, store }: Where): Promise<Found[]> {
  const phase = callPhase(folded)
  if (phase.type === 'ended' || phase.type === 'recovered') return []
  // Ends as interrupted, whatever code there is.
  if (phase.type === 'started' && folded.ifInterrupted === 'report') return []
  const { callId, name, executor } = folded
  const place = { callId, tool: name }
  const tool = toolNamed(agent, name)
  if (tool?.executor !== executor) {
    const what = tool ? `is now run by '${tool.executor}', not by '${executor}'` : 'is not in the code'
    const fate = isAnsweredOnly(folded)
      ? 'Its answer is checked against the recorded schema'
      : 'The call will end as an error'
    const message = `The tool '${name}' of the agent '${agent.name}' ${what}. ${fate}; keep the tool until its calls have ended.`
    return [{ kind: 'tool_missing', level: isAnsweredOnly(folded) ? 'warning' : 'error', message, ...place }]
  }
  const call = await wholeCall(store, id, folded)
  const found: Found[] = []
  const runsAgain = phase.type !== 'started' || isDue(call, phase) || call.ifInterrupted === 'ask'
  const isGivenArgs = executor === 'server' || (executor === 'agent' && phase.type !== 'pending')
  const problem = isGivenArgs && runsAgain ? await problemWithin(code, agent, argsProblem(tool, call)) : null
  if (problem !== null) {
    const message = `The recorded arguments of '${name}' do not match its input: ${problem}. The call will end as an error. Accept the old shape until its calls have ended, or deny them.`
    found.push({ kind: 'arguments_invalid', level: 'error', message, ...place })
  }
  if (phase.type === 'pending' && isAskedOtherwise(tool, phase.round)) {
    const message = `'${name}' was asked with another schema than the code has now. A form that people were shown may send an answer that is refused.`
    found.push({ kind: 'answer_schema_changed', level: 'warning', message, ...place })
  }
  return found
}

/** Nothing runs for the call any more: its answer is its result. */
function isAnsweredOnly(call: CallState): boolean {
  const phase = callPhase(call)
  // The tool that asked is run again with the answer.
  if (phase.type === 'pending' && phase.round.toolState !== undefined) return false
  return phase.type === 'pending' && ['elicitation', 'client_exec', 'sub_agent'].includes(phase.round.kind)
}

/** A schema that the tool makes from the arguments is compared with nothing: the recorded one decides. */
function isAskedOtherwise(tool: Tool, { kind, schema }: Round): boolean {
  if (kind !== 'elicitation' && kind !== 'client_exec') return false
  if (!('outputJsonSchema' in tool) || (tool.executor === 'human' && tool.outputOf)) return false
  return !isSameJson(schema, answerSchema({ schema: tool.outputJsonSchema }, kind))
}

async function argsProblem(tool: Tool, call: CallState): Promise<string | null> {
  const checked = 'input' in tool ? await validate(tool.input, effectiveArgs(call)) : null
  return checked === null || checked.ok ? null : checked.issues
}

type Migrating = Pick<Where, 'id' | 'code'> & { readonly migrates: boolean }

async function checkState(agent: Agent, { appState }: ConversationState, where: Migrating): Promise<Found[]> {
  const { id, code, migrates } = where
  const { state: definition, name } = agent
  if (!definition || !appState) return []
  const { values } = appState
  const problem = await problemWithin(code, agent, stateProblem(definition, values))
  if (problem === null) return []
  const mismatch = `The state does not match the 'state' of the agent '${name}': ${problem}.`
  if (!definition.migrate) {
    const message = `${mismatch} The turn will fail (state_invalid). Accept the old shape, or give the agent migrateState.`
    return [{ kind: 'state_invalid', level: 'error', message }]
  }
  if (!migrates) {
    const message = `${mismatch} migrateState was not run; pass migrateState to find out whether it converts the state.`
    return [{ kind: 'state_to_migrate', level: 'warning', message }]
  }
  const migrating = failureOf(readState(definition, values, { agent: name, conversationId: id }))
  const left = await problemWithin(code, agent, migrating)
  return left === null ? [] : [{ kind: 'state_invalid', level: 'error', message: left }]
}

async function failureOf(work: Promise<unknown>): Promise<string | null> {
  try {
    await work
    return null
  } catch (error) {
    return errorText(error)
  }
}

/** Schemas may be asynchronous, and one that never answers must not hold up the rest. */
async function problemWithin(
  { clock, redact }: Code,
  { hookTimeoutMs }: Agent,
  work: Promise<string | null>,
): Promise<string | null> {
  const problem = await withTimeout(work, hookTimeoutMs, clock, () => `it was not checked within ${hookTimeoutMs} ms`)
  return problem === null ? null : redact(problem)
}
