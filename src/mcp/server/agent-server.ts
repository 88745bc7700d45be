import { createHash } from 'node:crypto'
import type { CallToolResult, InputRequiredResult, McpServer, ServerContext } from '@modelcontextprotocol/server'
import { PerdureError, packageVersion } from '../../base/errors/perdure-error.ts'
import { uuidV7 } from '../../base/uuid-v7.ts'
import type { Client } from '../../client/create-client.ts'
import type { TurnOutcome } from '../../engine/live/turn-outcome.ts'
import { earlyFinish, textWithEnd } from '../../log/state.ts'
import type { StateSigner } from '../../runtime/signed-files.ts'
import { addInbox } from './inbox-tools.ts'
import { loadServer } from './load-server.ts'
import { answerItem, askedItems, itemKey, keysIn, requestsFor } from './pending-input.ts'

/** What one caller is served with. */
export type ServedCaller = {
  /** Acts as the caller, through the routes of the server. */
  readonly client: Pick<Client, 'conversation' | 'conversations' | 'inbox'>
  readonly agents: readonly string[]
  readonly states: StateSigner
  /** How long a call waits for the turn. */
  readonly waitMs: number
}

/** A server of the protocol with the agents as tools, the inbox, and conversations to read. */
export async function agentServer(caller: ServedCaller, era: 'legacy' | 'modern'): Promise<McpServer> {
  const { McpServer, fromJsonSchema } = await loadServer()
  const server = new McpServer({ name: 'perdure', version: packageVersion })
  const inputSchema = fromJsonSchema<{ message: string; conversation?: string }>({
    type: 'object',
    properties: {
      message: { type: 'string', minLength: 1, description: 'What to say to the agent' },
      conversation: {
        type: 'string',
        minLength: 1,
        maxLength: 255,
        description: 'The id of a conversation to continue, from an earlier result. Default: a new one',
      },
    },
    required: ['message'],
    additionalProperties: false,
  })
  for (const [name, agent] of toolNames(caller.agents)) {
    const description = `Talk to the agent '${agent}'. The result has the id of the conversation.`
    server.registerTool(name, { description, inputSchema }, (args, ctx) =>
      reported(async () => {
        const given = ctx.mcpReq.requestState<unknown>()
        if (typeof given === 'string') return await goOn(agent, caller, given, ctx, era)
        const id = args.conversation ?? uuidV7()
        const { turnId } = await caller.client.conversation(id, { agent }).send(args.message)
        // Durable from here: the turn continues, even if this call ends before it.
        return await resultOf(agent, caller, { id, turnId }, new Set(), ctx, era)
      }),
    )
  }
  addInbox(server, caller.client, fromJsonSchema)
  const { ResourceNotFoundError, ResourceTemplate } = await loadServer()
  const template = new ResourceTemplate('perdure://conversations/{id}', {
    list: async () => {
      const { conversations } = await caller.client.conversations({ kind: 'conversation' })
      return {
        resources: conversations.map(({ id, title, agent }) => ({
          uri: `perdure://conversations/${encodeURIComponent(id)}`,
          name: title ?? id,
          mimeType: 'application/json',
          ...(agent ? { description: `A conversation with the agent '${agent}'` } : {}),
        })),
      }
    },
  })
  const about = { description: 'A conversation, as a view of its newest messages', mimeType: 'application/json' }
  server.registerResource('conversation', template, about, async (uri, { id }) => {
    const view = await viewOf(caller.client, String(id))
    if (!view) throw new ResourceNotFoundError(uri.href)
    return { contents: [{ uri: uri.href, mimeType: 'application/json', text: JSON.stringify(view) }] }
  })
  return server
}

/** Null where the caller sees no such conversation, or the id is none. */
async function viewOf(client: ServedCaller['client'], encoded: string) {
  try {
    return await client.conversation(decodeURIComponent(encoded)).view()
  } catch (error) {
    const isNone = PerdureError.isInstance(error) && error.code === 'conversation_not_found'
    if (isNone || error instanceof URIError) return null
    throw error
  }
}

/** By the name of the tool. Names of agents may have characters that names of tools must not. */
function toolNames(agents: readonly string[]): Map<string, string> {
  const names = new Map<string, string>()
  for (const agent of agents) {
    const clean = agent.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 54)
    const digest = createHash('sha256').update(agent).digest('hex').slice(0, 8)
    names.set(clean === agent && !names.has(clean) && !reserved.has(clean) ? clean : `${clean}_${digest}`, agent)
  }
  return names
}

const reserved = new Set(['list_waiting', 'answer_waiting'])

type Place = { readonly id: string; readonly turnId: string }
type Result = CallToolResult | InputRequiredResult

/** Returned by the client with its answers: where they belong. The signature shows that this server asked. */
type State = Place & { readonly agent: string; readonly keys: readonly string[] }

async function goOn(agent: string, caller: ServedCaller, given: string, ctx: ServerContext, era: Era): Promise<Result> {
  const state = readState(caller.states, given)
  if (state?.agent !== agent)
    return failed('The requestState was not made by this server. Call the tool again without it.')
  const conversation = caller.client.conversation(state.id)
  const responses = ctx.mcpReq.inputResponses ?? {}
  const declined = new Set<string>()
  // Where it is at work again, another answer was first.
  const outcome = await within(caller.waitMs, (signal) => conversation.outcome(state.turnId, { signal }))
  const pending = outcome?.status === 'waiting' ? outcome.pending : []
  for (const item of pending) {
    const key = itemKey(item)
    if (!state.keys.includes(key) || !Object.hasOwn(responses, key)) continue
    if (!(await answerItem(conversation, item, responses[key]))) declined.add(key)
  }
  return await resultOf(agent, caller, state, declined, ctx, era)
}

type Era = 'legacy' | 'modern'

async function resultOf(
  agent: string,
  { client, states, waitMs }: ServedCaller,
  { id, turnId }: Place,
  declined: ReadonlySet<string>,
  ctx: ServerContext,
  era: Era,
): Promise<Result> {
  const outcome = await within(waitMs, (signal) => client.conversation(id).outcome(turnId, { signal }))
  if (outcome?.status !== 'waiting') return told(id, turnId, outcome)
  const items = askedItems(outcome.pending).filter((item) => !declined.has(itemKey(item)))
  if (era === 'legacy' || items.length === 0 || !takesQuestions(ctx)) return told(id, turnId, outcome)
  const { inputRequired } = await loadServer()
  const state: State = { id, turnId, agent, keys: keysIn(items) }
  return inputRequired({ inputRequests: requestsFor(items), requestState: signedState(states, state) })
}

/** Of a client that cannot be asked, the inbox is. */
function takesQuestions(ctx: ServerContext): boolean {
  const envelope = JSON.stringify(ctx.mcpReq.envelope ?? {})
  return envelope.includes('"elicitation"')
}

async function within<T>(waitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
  const signal = AbortSignal.timeout(waitMs)
  try {
    return await work(signal)
  } catch (error) {
    if (signal.aborted) return null
    throw error
  }
}

function told(conversation: string, turn: string, outcome: TurnOutcome | null): CallToolResult {
  const about = { conversation, turn, status: !outcome || outcome.status === 'detached' ? 'running' : outcome.status }
  if (!outcome || outcome.status === 'detached') {
    const text = `The agent is still at work. Read perdure://conversations/${encodeURIComponent(conversation)} later.`
    return { content: [{ type: 'text', text }], structuredContent: { ...about, text } }
  }
  if (outcome.status === 'waiting') {
    const pending = outcome.pending.map(({ callId, round, kind, tool, description, prompt, doneBefore }) => ({
      callId,
      round,
      kind,
      tool,
      ...(description === undefined ? {} : { description }),
      prompt,
      ...(doneBefore ? { doneBefore } : {}),
    }))
    const text = `The agent waits for a person: ${JSON.stringify(pending)}. Answer with answer_waiting.`
    return { content: [{ type: 'text', text }], structuredContent: { ...about, text, pending } }
  }
  const object = outcome.status === 'completed' && outcome.object !== undefined ? { object: outcome.object } : {}
  const reason = outcome.reason === null ? {} : { reason: outcome.reason }
  const early = outcome.finishReason === null ? null : earlyFinish(outcome.finishReason)
  const text = outcome.text || `The turn is ${outcome.status}.`
  const isError = outcome.status === 'failed' || outcome.status === 'cancelled'
  return {
    content: [{ type: 'text', text: textWithEnd(text, early) }],
    structuredContent: {
      ...about,
      text: outcome.text,
      ...(early === null ? {} : { finishReason: early }),
      ...object,
      ...reason,
    },
    ...(isError ? { isError } : {}),
  }
}

async function reported(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (PerdureError.isInstance(error)) return failed(error.message)
    throw error
  }
}

function failed(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

function signedState(states: StateSigner, state: State): string {
  const text = Buffer.from(JSON.stringify(state)).toString('base64url')
  return `${text}.${states.sign(text)}`
}

function readState(states: StateSigner, given: string): State | null {
  const [text = '', signature = '', ...more] = given.split('.')
  if (more.length > 0 || !states.isSigned(text, signature)) return null
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as State
}
