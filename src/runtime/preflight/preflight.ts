import { DeterminismError, NoSuchFlowError } from '../../base/errors/flow-errors.ts'
import { EventUnknownError } from '../../base/errors/log-errors.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { readOptions } from '../../base/errors/read-options.ts'
import { InvalidArgumentError, UpkeepUnsupportedError } from '../../base/errors/store-errors.ts'
import { isSameJson } from '../../base/json.ts'
import { type Flow, flowOfAgent } from '../../define/define-flow.ts'
import { toJsonSchema } from '../../define/schema.ts'
import { FlowRun, type LiveOp } from '../../engine/flow/flow-run.ts'
import { type FlowState, openOps } from '../../engine/flow/flow-state.ts'
import { loadFlow } from '../../engine/flow/load-flow.ts'
import { checkId, checkWhole } from '../../store/checks.ts'
import { readBounds } from '../../store/log-pages.ts'
import type { ConversationFilter, ConversationRecord } from '../../store/records.ts'
import type { Store, TenantStore } from '../../store/store.ts'
import { type Code, checkConversation } from './check-conversation.ts'
import type { Found, PreflightFinding } from './preflight-finding.ts'

/** What is checked, and how much of it at once. */
export type PreflightOptions = {
  /** Only this tenant. Default: all tenants. */
  readonly tenant?: string
  /** How many conversations and sessions to check, at most 1,000. Default: 100. */
  readonly limit?: number
  /** Where the previous page ended. */
  readonly after?: string
  /** Runs `migrateState` where a state does not match, and drops its result. Default: false. */
  readonly migrateState?: boolean
}

/** A page of findings. `checked`: how many conversations and sessions. `after`: continue there; null at the end. */
export type PreflightPage = {
  readonly findings: readonly PreflightFinding[]
  readonly checked: number
  readonly after: string | null
}

/** What is open, as rows say it. The order is that of pages. */
const open: readonly Pick<ConversationFilter, 'status' | 'kind'>[] = [
  { status: 'active' },
  { status: 'suspended' },
  { status: 'sleeping' },
  // Copied and not continued yet. A conversation like that has no open turn.
  { kind: 'flow', status: 'idle' },
]

/** A page ends after this many lists, even if the tenants have nothing open. */
const mostLists = 1_000
/** Of one conversation. */
const mostFindings = 20
const longestMessage = 1_000

/** Where a page begins: in this tenant, in this list of `open`, below this id. */
type Place = { readonly tenant: string; readonly list: number; readonly before: string | null }

/** The page of `perdure preflight`: see `Runtime.preflight`. Reads only. */
export async function preflight(
  code: Code,
  store: Pick<Store, 'forTenant' | 'upkeep'>,
  given?: PreflightOptions,
): Promise<PreflightPage> {
  const { tenant, limit = 100, after, migrateState = false } = readOptions('options', given, names)
  checkWhole('limit', limit, 1)
  if (limit > 1_000) throw new InvalidArgumentError('limit', 'must be at most 1,000')
  if (tenant !== undefined) checkId('tenant', tenant)
  if (typeof migrateState !== 'boolean') throw new InvalidArgumentError('migrateState', 'must be true or false')
  const from = after === undefined ? null : placeIn(after)
  if (from && tenant !== undefined && from.tenant !== tenant) throw new InvalidArgumentError('after', ofThePage)
  const findings: PreflightFinding[] = []
  let [checked, lists] = [0, 0]
  for await (const place of placesFrom(from, tenant === undefined ? tenantsOf(store, from) : [tenant])) {
    const handle = store.forTenant(place.tenant)
    for (let { before } = place; ; ) {
      if (checked >= limit || lists >= mostLists) return { findings, checked, after: textOf({ ...place, before }) }
      lists += 1
      const records = await listed(handle, place.list, before, limit - checked)
      for (const record of records)
        findings.push(...(await checkRecord(code, handle, place.tenant, record, migrateState)))
      checked += records.length
      before = records.at(-1)?.id ?? before
      if (records.length === 0) break
    }
  }
  return { findings, checked, after: null }
}

const ofThePage = 'must be the `after` of the previous page'

const names = ['tenant', 'limit', 'after', 'migrateState'] as const

/** The lists that are left, from `from` on. */
async function* placesFrom(
  from: Place | null,
  tenants: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<Place, void, void> {
  for await (const tenant of tenants) {
    const isFirst = from?.tenant === tenant
    for (let list = isFirst ? from.list : 0; list < open.length; list++) {
      yield { tenant, list, before: isFirst && list === from.list ? from.before : null }
    }
  }
}

/**
 * From the tenant of `from` on, in the order of the bytes of their names. They are collected before any is checked: an examination of all conversations must not
 * keep a snapshot of the store open. At most as many as a page can get to.
 */
async function* tenantsOf({ upkeep }: Pick<Store, 'upkeep'>, from: Place | null): AsyncGenerator<string, void, void> {
  if (!upkeep) throw new UpkeepUnsupportedError()
  const least = Buffer.from(from?.tenant ?? '')
  yield* await upkeep.snapshot(async (reader) => {
    const tenants: string[] = []
    for await (const tenant of reader.tenants()) {
      if (Buffer.compare(Buffer.from(tenant), least) >= 0) tenants.push(tenant)
      if (tenants.length > mostLists / open.length + 1) break
    }
    return tenants
  })
}

async function listed(
  store: TenantStore,
  list: number,
  before: string | null,
  limit: number,
): Promise<ConversationRecord[]> {
  const page = { ...open[list]!, limit, maxBytes: readBounds.maxBytes }
  try {
    return await store.listConversations(before === null ? page : { ...page, before })
  } catch (error) {
    const isGone = before !== null && PerdureError.isInstance(error) && error.code === 'conversation_not_found'
    // Deleted since. Some rows are checked twice, and none is skipped.
    if (isGone) return store.listConversations(page)
    throw error
  }
}

async function checkRecord(
  code: Code,
  store: TenantStore,
  tenant: string,
  record: ConversationRecord,
  migrates: boolean,
): Promise<PreflightFinding[]> {
  const { id, kind, agent } = record
  const isSession = kind === 'flow'
  const checking = isSession
    ? checkSession(code, store, id)
    : checkConversation(code, store, record, migrates).then((found) => ({ flow: null, found }))
  const { flow, found } = await checking.catch((error: unknown) => ({
    flow: isSession ? flowOfAgent(agent) : null,
    found: [unreadable(error)],
  }))
  const place = { tenant, id, agent: isSession ? null : agent, flow }
  return shortened(found).map(({ kind, level, callId = null, tool = null, message }) => {
    const text = message.length > longestMessage ? `${message.slice(0, longestMessage).toWellFormed()}…` : message
    return { kind, level, ...place, callId, tool, message: text }
  })
}

/** A store that fails is not a finding. */
function unreadable(error: unknown): Found {
  const isOfLog = PerdureError.isInstance(error) && !error.retryable && !error.code.startsWith('store_')
  if (!isOfLog) throw error
  const kind = error instanceof EventUnknownError ? 'event_unknown' : 'log_unreadable'
  return { kind, level: 'error', message: error.message }
}

function shortened(found: readonly Found[]): readonly Found[] {
  if (found.length <= mostFindings) return found
  const shown = found.toSorted((one, other) => Number(one.level === 'warning') - Number(other.level === 'warning'))
  const left = shown.slice(mostFindings)
  const level = left.some((more) => more.level === 'error') ? 'error' : 'warning'
  const message = `It has ${left.length} more findings. Correct these, and run preflight again.`
  return [...shown.slice(0, mostFindings), { kind: 'more', level, message }]
}

function textOf(place: Place): string {
  return Buffer.from(JSON.stringify([place.tenant, place.list, place.before])).toString('base64url')
}

function placeIn(after: unknown): Place {
  try {
    const [tenant, list, before] = JSON.parse(Buffer.from(String(after), 'base64url').toString()) as unknown[]
    checkId('tenant', tenant)
    if (before !== null) checkId('conversation id', before)
    if (Number.isInteger(list) && open[list as number]) return { tenant, list: list as number, before }
  } catch {
    // Told below.
  }
  throw new InvalidArgumentError('after', ofThePage)
}

/** What was found of a session, with the flow that it was recorded with; null where the log is not that of a session. */
type SessionFindings = { readonly flow: string | null; readonly found: readonly Found[] }

/**
 * Replays a session's code against its record, up to the first operation that is not recorded. No step is run, no agent is asked and no time passes: the replay
 * only gives back recorded outcomes. What the flow's code does outside its verbs runs, as on every replay.
 */
async function checkSession(code: Code, store: TenantStore, id: string): Promise<SessionFindings> {
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
