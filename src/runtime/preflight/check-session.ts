import { DeterminismError, NoSuchFlowError } from '../../base/errors/flow-errors.ts'
import { isSameJson } from '../../base/json.ts'
import type { Flow } from '../../define/define-flow.ts'
import { toJsonSchema } from '../../define/schema.ts'
import { FlowRun, type LiveOp } from '../../engine/flow/flow-run.ts'
import { type FlowState, openOps } from '../../engine/flow/flow-state.ts'
import { loadFlow } from '../../engine/flow/load-flow.ts'
import type { TenantStore } from '../../store/store.ts'
import type { Code } from './check-conversation.ts'
import type { Found } from './preflight-finding.ts'

/** What was found of a session, with the flow that it was recorded with; null where the log is not that of a session. */
export type SessionFindings = { readonly flow: string | null; readonly found: readonly Found[] }

/**
 * Replays a session's code against its record, up to the first operation that is not recorded. No step is run, no agent is asked and no time passes: the replay
 * only gives back recorded outcomes. What the flow's code does outside its verbs runs, as on every replay.
 */
export async function checkSession(code: Code, store: TenantStore, id: string): Promise<SessionFindings> {
  const loaded = await loadFlow(store, id)
  if (!loaded) return { flow: null, found: [] }
  const { state } = loaded
  const flow = `${state.flow} ${state.version}`
  if (state.ended) return { flow, found: [] }
  const missing = openOps(state).flatMap(({ op }) =>
    op.kind === 'agent' && !code.addressable.has(op.agent) ? [agentMissing(op.agent)] : [],
  )
  return { flow, found: [...(await replayed(code, id, state)), ...missing] }
}

async function replayed({ flows, redact }: Code, id: string, state: FlowState): Promise<Found[]> {
  try {
    const flow = flows.replaying(id, state)
    const standstill = await new FlowRun(id, flow, state).replay()
    return standstill.type === 'blocked' ? standstill.ops.flatMap((op) => askedOtherwise(flow, op) ?? []) : []
  } catch (error) {
    if (error instanceof NoSuchFlowError) {
      const message = `There is no flow '${state.flow}'. The session will wait until a node has the flow. Keep the flow in the code until its sessions have ended.`
      return [{ kind: 'flow_missing', level: 'error', message }]
    }
    if (!(error instanceof DeterminismError)) throw error
    return [{ kind: 'flow_diverges', level: 'error', message: redact(error.message) }]
  }
}

function askedOtherwise({ name }: Flow, { op, schema }: LiveOp): Found | null {
  if (op.kind !== 'suspend' || isSameJson(op.schema ?? true, schema ? toJsonSchema(schema) : true)) return null
  const message = `A suspension of '${name}' was asked with another schema than the code has now. A form that people were shown may send an answer that is refused.`
  return { kind: 'answer_schema_changed', level: 'warning', message }
}

function agentMissing(agent: string): Found {
  const message = `The session asks the agent '${agent}', which is not in 'agents'. Keep the agent in the code until the session has ended.`
  return { kind: 'agent_missing', level: 'error', message }
}
