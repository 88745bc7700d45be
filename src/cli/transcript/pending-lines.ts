import type { Json } from '../../base/json.ts'
import { findCall } from '../../log/state.ts'
import { doneBeforeText } from '../../log/superseded.ts'
import type { PendingItem, View } from '../../view/view.ts'
import type { TargetArgs } from '../target/target-args.ts'
import { duration, type SafeText, safe } from '../terminal/text.ts'
import { commandLine, shortCallId } from './command-line.ts'
import { excerpt, type LineStyle, leftOutText } from './view-lines.ts'

export type PendingStyle = LineStyle & {
  /** Adds the commands that answer, on this target. Default: none. */
  readonly answerOn?: TargetArgs | undefined
}

/** Arguments up to this length are shown whole: a person who approves a call must see what runs. */
const wholeArguments = 20_000

/** A call that waits for an answer. */
export function pendingLines(item: PendingItem, view: View, { colours, isFull, answerOn }: PendingStyle): SafeText[] {
  const { dim, yellow, cyan } = colours
  const expires = item.expiresAt === null ? '' : `, expires in ${duration(item.expiresAt - Date.now())}`
  const [first = '', ...more] = promptText(item.prompt, isFull).split(/\r?\n/)
  const heading = `  ? ${placeOf(item, view)} ${asks[item.kind]}${expires}${first === '' ? '' : ': '}`
  const isWhole = isFull || JSON.stringify(item.args).length <= wholeArguments
  const isNews = item.description !== undefined && item.description !== item.prompt
  const showsArguments = item.kind !== 'elicitation' || item.prompt === null
  const commands = answerOn ? wordsFor(item).map((words) => lineFor(words, view.conversationId, item, answerOn)) : []
  return [
    safe`${yellow(heading)}${first}`,
    ...(isNews ? [safe`    ${item.description ?? ''}`] : []),
    // Marked, so that a line of a prompt cannot pass for a line of the program.
    ...more.map((row) => safe`${yellow('    │ ')}${row}`),
    ...(showsArguments ? [dim(`    arguments: ${excerpt(item.args, isWhole)}`)] : []),
    ...(item.doneBefore ? [yellow(`    ${doneBeforeText[item.doneBefore.outcome]}`)] : []),
    ...(item.leftOut ? [dim(`    ${leftOutText(item.leftOut)}`)] : []),
    ...commands.map((line) => safe`    ${cyan(line)}`),
  ]
}

const asks: Readonly<Record<PendingItem['kind'], string>> = {
  approval: 'needs approval',
  elicitation: 'asks',
  client_exec: 'waits for a client',
  recovery: 'was interrupted and asks what to do',
  sub_agent: 'waits for a child agent',
}

function promptText(prompt: Json, isFull: boolean): string {
  if (prompt === null) return ''
  return typeof prompt === 'string' ? prompt : excerpt(prompt, isFull)
}

/** The tool, after the tools of the child agents above it. */
function placeOf(item: PendingItem, view: View): string {
  if (item.path.length < 2) return item.tool
  const above = item.path.slice(0, -1).map(({ callId }) => findCall(view.log, callId)?.call.name ?? 'a child agent')
  return [...above, item.tool].join(' › ')
}

function lineFor([verb = '', ...rest]: string[], id: string, { callId }: PendingItem, args: TargetArgs): string {
  return commandLine([verb, id, '--call', shortCallId(callId), ...rest], args)
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
    case 'sub_agent':
      return []
    default:
      return [['answer', JSON.stringify(example(schema, 0))]]
  }
}

/** A value of the kind that the schema asks for. */
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
