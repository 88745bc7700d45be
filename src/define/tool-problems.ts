import type { Executor } from '../log/events.ts'
import { isAgent } from './agent.ts'
import { isSchema } from './schema.ts'

const commonKeys = ['name', 'description', 'executor', 'input', 'retention', 'providerOptions']
const calledKeys = [...commonKeys, 'expiresInMs', 'prompt', 'describe', 'strict']

const keysOf: { readonly [Runs in Executor]: readonly string[] } = {
  server: [...calledKeys, 'run', 'approval', 'timeoutMs', 'ifInterrupted'],
  human: [...calledKeys, 'output'],
  client: [...calledKeys, 'output', 'approval'],
  provider: [...commonKeys, 'id', 'args'],
  agent: [...calledKeys, 'agent', 'approval'],
}

const executors = Object.keys(keysOf) as Executor[]

/**
 * Lists everything that is wrong with a tool's attributes. The types catch most of it, but not every caller uses types.
 */
export function toolProblems(attributes: unknown): string[] {
  if (typeof attributes !== 'object' || attributes === null) return ['it must be an object']
  const tool = attributes as { readonly [key: string]: unknown }
  const executor = (tool['executor'] ?? 'server') as Executor
  if (!executors.includes(executor)) return [`'executor' must be one of ${executors.join(', ')}, not ${show(executor)}`]
  return [
    ...Object.keys(tool)
      .filter((key) => tool[key] !== undefined && !keysOf[executor].includes(key))
      .map((key) => misplaced(key, executor)),
    ...nameProblems(tool),
    ...schemaProblems(tool, executor),
    ...executorProblems(tool, executor),
    ...settingProblems(tool),
  ]
}

function misplaced(key: string, executor: Executor): string {
  const owners = executors.filter((candidate) => keysOf[candidate].includes(key))
  if (owners.length === 0) return `unknown key '${key}' (known: ${keysOf[executor].join(', ')})`
  return `'${key}' is not for executor '${executor}' but for ${owners.join(', ')}`
}

type Given = { readonly [key: string]: unknown }

function nameProblems({ name, description, executor }: Given): string[] {
  const problems: string[] = []
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
    problems.push("'name' must be 1 to 64 of a-z A-Z 0-9 _ -, because that is what all providers take")
  }
  const isOptional = executor === 'provider' && description === undefined
  if (!isOptional && (typeof description !== 'string' || description === '')) {
    problems.push("'description' must tell the model what the tool is for")
  }
  return problems
}

function schemaProblems({ input, output }: Given, executor: Executor): string[] {
  const problems: string[] = []
  const isOptional = executor === 'provider' && input === undefined
  if (!isOptional && !isSchema(input)) problems.push("'input' must be a Standard Schema or a JSON Schema")
  const isFunction = executor === 'human' && typeof output === 'function'
  if ((executor === 'human' || executor === 'client') && !isFunction && !isSchema(output)) {
    problems.push(`'output', the schema of the answer, is needed for executor '${executor}'`)
  }
  return problems
}

function executorProblems(tool: Given, executor: Executor): string[] {
  const { run, agent, approval = 'auto', ifInterrupted = 'report', id = 'a.b', args = {} } = tool
  const problems: string[] = []
  if (executor === 'server' && typeof run !== 'function') problems.push("'run' is needed for executor 'server'")
  if (executor === 'agent' && !isAgent(agent)) {
    problems.push("'agent', made by defineAgent, is needed for executor 'agent'")
  }
  if (typeof approval !== 'function' && approval !== 'auto' && approval !== 'required') {
    problems.push(`'approval' must be 'auto', 'required' or a function, not ${show(approval)}`)
  }
  if (!['report', 'rerun', 'ask'].includes(ifInterrupted as string)) {
    problems.push(`'ifInterrupted' must be one of report, rerun, ask, not ${show(ifInterrupted)}`)
  }
  if (typeof id !== 'string' || !id.includes('.')) problems.push("'id' must be '<provider>.<tool>'")
  if (typeof args !== 'object' || args === null) problems.push("'args' must be an object")
  return problems
}

/** A hundred years. A longer time is a mistake in the unit. */
const maxDurationMs = 3_155_760_000_000

function settingProblems({ timeoutMs, expiresInMs, retention, prompt, describe, strict }: Given): string[] {
  const problems: string[] = []
  for (const [key, value] of Object.entries({ timeoutMs, expiresInMs })) {
    if (value === undefined) continue
    const isDuration = Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= maxDurationMs
    if (!isDuration) problems.push(`'${key}' must be a whole number of milliseconds from 1 on, not ${show(value)}`)
  }
  if (retention !== undefined) problems.push(...retentionProblems('retention', retention))
  if (prompt !== undefined && typeof prompt !== 'string' && typeof prompt !== 'function') {
    problems.push("'prompt' must be a string or a function")
  }
  if (describe !== undefined && typeof describe !== 'function') problems.push("'describe' must be a function")
  if (strict !== undefined && typeof strict !== 'boolean') problems.push("'strict' must be true or false")
  return problems
}

export function retentionProblems(name: string, retention: unknown): string[] {
  if (retention === 'never') return []
  const { mode, value } = Object(retention) as { mode?: unknown; value?: unknown }
  const isKnown = (mode === 'age' || mode === 'count') && Number.isSafeInteger(value) && (value as number) >= 0
  return isKnown ? [] : [`'${name}' must be 'never' or { mode: 'age' | 'count', value: a whole number }`]
}

function show(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}
