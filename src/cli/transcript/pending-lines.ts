import type { Json } from '../../base/json.ts'
import type { RemoteRecord } from '../../client/pages.ts'
import type { PendingItem } from '../../view/view.ts'
import type { TargetArgs } from '../target/target-args.ts'
import { type Colours, duration, type SafeText, safe } from '../terminal/text.ts'
import { excerpt, indented, leftOutText } from './message-lines.ts'

export type PendingStyle = { readonly colours: Colours; readonly isFull: boolean; readonly args: TargetArgs }

/** What waits for somebody, and what to type. */
export function pendingLines(
  conversationId: string,
  item: PendingItem,
  { colours, isFull, args }: PendingStyle,
): SafeText[] {
  const below = item.path.length > 1 ? ` in ${item.path.map((step) => step.conversationId).join(' > ')}` : ''
  const expires = item.expiresAt === null ? '' : `, expires in ${duration(item.expiresAt - Date.now())}`
  const prompt = item.prompt === null ? [] : indented(promptText(item.prompt, isFull), 4)
  const call = ['--call', shortCallId(item.callId)]
  const lines = wordsFor(item).map((words) => {
    const [verb = '', ...rest] = words
    return colours.cyan(commandLine([verb, conversationId, ...call, ...rest], args))
  })
  return [
    safe`  ${colours.bold(item.tool)} ${excerpt(item.args, isFull)} ${colours.yellow(kindText[item.kind])}${colours.dim(`${below}${expires}`)}`,
    ...prompt,
    ...(item.leftOut ? indented(colours.dim(leftOutText(item.leftOut)), 4) : []),
    ...lines.flatMap((line) => indented(line, 4)),
  ]
}

const kindText: Readonly<Record<PendingItem['kind'], string>> = {
  approval: 'waits for approval',
  elicitation: 'waits for an answer',
  client_exec: 'waits for a client',
  sub_agent: 'waits for an agent',
  recovery: 'was interrupted, and waits for a decision',
}

/** An ending of the id that tells calls apart: they begin with the time. */
export function shortCallId(callId: string): string {
  return callId.slice(-8)
}

function wordsFor({ kind, schema }: PendingItem): string[][] {
  switch (kind) {
    case 'approval':
      return [['approve'], ['deny', '--reason', 'because']]
    case 'recovery':
      return [
        ['answer', '"rerun"'],
        ['answer', '"report"'],
      ]
    default:
      return [['answer', exampleOf(schema)]]
  }
}

/** A first idea of what would be accepted. */
function exampleOf(schema: Json): string {
  return JSON.stringify(example(schema, 0))
}

function example(schema: Json, depth: number): Json {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema) || depth > 3) return '…'
  const { type, properties, anyOf, oneOf, enum: values, const: constant, items } = schema as { [key: string]: Json }
  const options = values ?? anyOf ?? oneOf
  if (constant !== undefined) return constant
  if (Array.isArray(options) && options.length > 0) return values ? options[0]! : example(options[0]!, depth + 1)
  if (type === 'boolean') return true
  if (type === 'number' || type === 'integer') return 0
  if (type === 'array') return [example(items ?? null, depth + 1)]
  if (type !== 'object') return '…'
  return Object.fromEntries(Object.entries(properties ?? {}).map(([name, each]) => [name, example(each, depth + 1)]))
}

function promptText(prompt: Json, isFull: boolean): string {
  return typeof prompt === 'string' ? prompt : excerpt(prompt, isFull)
}

type Listed = Pick<RemoteRecord, 'id' | 'unreadable' | 'quarantinedAt'>

/** What to say beside a list about each of its conversations that is damaged in the store, or quarantined. */
export function problemNotes(records: readonly Listed[], args: TargetArgs): string[] {
  // The doctor looks after whole stores, as nobody.
  const { tenant, who: _, ...place } = args
  return records.flatMap(({ id, unreadable, quarantinedAt }) => {
    if (unreadable) {
      const what = unreadable.join(' and ')
      return [`'${id}' is damaged: its ${what} cannot be read. Run: ${commandLine(['doctor'], place)}`]
    }
    if (quarantinedAt === undefined) return []
    const release = commandLine(['unquarantine', id, ...(tenant === undefined ? [] : ['--tenant', tenant])], place)
    return [`'${id}' is quarantined: the processes that worked on it ended. Find out why, then run: ${release}`]
  })
}

const targetOptions = ['url', 'token-file', 'store', 'config', 'tenant', 'who'] as const

/** A line to type next, on the same target as this command. */
export function commandLine(words: readonly string[], args: TargetArgs): string {
  const target = targetOptions.flatMap((name) => (args[name] === undefined ? [] : [`--${name}`, args[name]]))
  return [perdureCommand(), ...[...words, ...target].map(quoted)].join(' ')
}

/** For a POSIX shell. */
function quoted(word: string): string {
  return /^[\w./:@=+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** How this command line is called again: in a clone by its script, else by npx, which finds it in a project and where it is global. */
export function perdureCommand(): string {
  return isFromSource() ? 'npm run -s perdure --' : 'npx perdure'
}

export function isFromSource(): boolean {
  return import.meta.url.endsWith('.ts')
}
