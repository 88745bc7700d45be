/**
 * Every name that telemetry uses. No `gen_ai.*` name of OpenTelemetry's semantic conventions is stable yet, so a change of one is a change of this file alone.
 */

/** The name of the tracer and the meter. */
export const scopeName = 'perdure'

/** The first word of a span's name, and its `gen_ai.operation.name`. The second word is the agent, model, tool, flow, hook or step. */
export const operations = {
  turn: 'invoke_agent',
  model: 'chat',
  tool: 'execute_tool',
  session: 'invoke_workflow',
  hook: 'run_hook',
  step: 'run_step',
  wait: 'wait_for_person',
  send: 'send',
} as const

export const attributes = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agent: 'gen_ai.agent.name',
  conversation: 'gen_ai.conversation.id',
  /** Some backends group by it. */
  session: 'session.id',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheCreationTokens: 'gen_ai.usage.cache_creation.input_tokens',
  tokenType: 'gen_ai.token.type',
  tool: 'gen_ai.tool.name',
  callId: 'gen_ai.tool.call.id',
  workflow: 'gen_ai.workflow.name',
  errorType: 'error.type',
  tenant: 'perdure.tenant',
  turn: 'perdure.turn.id',
  status: 'perdure.status',
  hook: 'perdure.hook',
  step: 'perdure.step',
  waitKind: 'perdure.wait.kind',
  attempt: 'perdure.attempt',
  /** `audit`: measured. `log`: from the event before it to its own, which is at least as long. */
  timing: 'perdure.timing',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
} as const

/** Histograms, in seconds unless it says otherwise. */
export const histograms = {
  turn: {
    name: 'gen_ai.invoke_agent.duration',
    unit: 's',
    description: 'Time that a turn was worked on; waits are apart.',
  },
  model: {
    name: 'gen_ai.client.operation.duration',
    unit: 's',
    description: 'Time of one request to a model provider.',
  },
  firstChunk: {
    name: 'gen_ai.client.operation.time_to_first_chunk',
    unit: 's',
    description: 'Time from a request to a model provider to its first token.',
  },
  tool: {
    name: 'gen_ai.execute_tool.duration',
    unit: 's',
    description: 'Time from the start of a tool to its result.',
  },
  session: {
    name: 'gen_ai.workflow.duration',
    unit: 's',
    description: 'Time that a session was worked on; waits are apart.',
  },
  tokens: {
    name: 'gen_ai.client.token.usage',
    unit: '{token}',
    description: 'Tokens of one request to a model provider.',
  },
  wait: { name: 'perdure.wait.duration', unit: 's', description: 'Time that a call or a session waited for a person.' },
  queue: {
    name: 'perdure.queue.duration',
    unit: 's',
    description: 'Time from a message to the beginning of its turn.',
  },
} as const

export const counters = {
  turns: { name: 'perdure.turns', unit: '{turn}', description: 'Turns that ended.' },
  sessions: { name: 'perdure.sessions', unit: '{session}', description: 'Sessions that ended.' },
  tools: { name: 'perdure.tool.calls', unit: '{call}', description: 'Tool calls that ended.' },
  retries: { name: 'perdure.model.retries', unit: '{attempt}', description: 'Model calls that were tried again.' },
  leasesLost: { name: 'perdure.leases.lost', unit: '{lease}', description: 'Leases that this process lost.' },
  dropped: {
    name: 'perdure.telemetry.dropped',
    unit: '{rest}',
    description: 'Turns and sessions without spans, because their log was not read.',
  },
} as const

/** Of the whole store, read when they are collected. */
export const gauges = {
  waiting: { name: 'perdure.inbox.waiting', unit: '{call}', description: 'Calls and sessions that wait for a person.' },
  oldestWaiting: {
    name: 'perdure.inbox.oldest.age',
    unit: 's',
    description: 'How long the oldest of them has waited.',
  },
  overdue: {
    name: 'perdure.expiry.overdue',
    unit: '{call}',
    description: 'Deadlines that have passed and whose calls still wait.',
  },
  expiryLag: { name: 'perdure.expiry.lag', unit: 's', description: 'How long ago the oldest of them passed.' },
  leases: { name: 'perdure.leases.held', unit: '{lease}', description: 'Leases that processes hold.' },
} as const

export type HistogramName = keyof typeof histograms
export type CounterName = keyof typeof counters

/** Longer names are cut: they come from models, providers and applications. */
const mostLetters = 128

/** A name as it is put into a span or a metric: short, on one line, and never empty. */
export function plainName(name: string): string {
  // Also lone surrogates, which no exporter can encode.
  const plain = name.slice(0, mostLetters).replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, '?')
  return plain === '' ? '?' : plain
}
