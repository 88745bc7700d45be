import { text as readAll } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ArgsDef } from 'citty'
import { CommandLineError, NothingWaitsError } from '../../base/errors/cli-errors.ts'
import type { Json } from '../../base/json.ts'
import type { Answered, CallRef, WinningResolution } from '../../runtime/answer-call.ts'
import type { PendingItem, View } from '../../view/view.ts'
import { type ExitCode, exitCodes } from '../command.ts'
import type { Output } from '../output.ts'
import type { Target } from '../target/open-target.ts'
import { type TargetArgs, targetArgs } from '../target/target-args.ts'
import { ago, type Printable, safe } from '../terminal/text.ts'
import { commandLine, shortCallId } from '../transcript/command-line.ts'
import { excerpt } from '../transcript/view-lines.ts'

export type FoundCall = {
  readonly ref: CallRef
  readonly tool: string
  /** Null when it has been answered. */
  readonly item: PendingItem | null
  readonly view: View
}

type Wanted = { readonly kinds: readonly PendingItem['kind'][]; readonly what: string }

type Asked = TargetArgs & { readonly conversation: string; readonly call?: string | undefined }

/** The call that waits, or the one whose id ends with `--call`. A call that has been answered is found too: a second answer reports who was first. */
export async function findPending(target: Target, args: Asked, wanted: Wanted): Promise<FoundCall> {
  const { conversation: id, call: given } = args
  const view = await target.conversation(id).view()
  const isMeant = (callId: string, kind: PendingItem['kind']): boolean =>
    given === undefined ? wanted.kinds.includes(kind) : callId.endsWith(given)
  const waiting = view.pending.filter(({ callId, kind }) => isMeant(callId, kind))
  const [item] = waiting
  if (waiting.length > 1) throw new CommandLineError(`Several calls wait; name one with --call: ${listOf(waiting)}`)
  if (item) return { ref: item, tool: item.tool, item, view }
  const answered = answeredRounds(view).findLast(({ callId, kind }) => isMeant(callId, kind))
  if (answered) return { ref: answered, tool: answered.tool, item: null, view }
  throw new NothingWaitsError(
    id,
    given === undefined ? wanted.what : `an answer under a call that ends with '${given}'`,
    commandLine(['show', id], args),
  )
}

/** The answered calls of the last turn. */
function answeredRounds({ log }: View) {
  return (log.turns.at(-1)?.calls ?? []).flatMap(({ callId, name, rounds }) =>
    rounds.filter(({ resolution }) => resolution).map(({ round, kind }) => ({ callId, tool: name, round, kind })),
  )
}

function listOf(items: readonly PendingItem[]): string {
  return items.map(({ callId, tool }) => `${shortCallId(callId)} (${tool})`).join(', ')
}

export const answerArgs = {
  conversation: {
    type: 'positional',
    required: true,
    description: 'Its id, or the id of the conversation that called its agent',
  },
  call: { type: 'string', valueHint: 'id', description: 'Which call, if several wait; the end of its id is enough' },
  key: {
    type: 'string',
    valueHint: 'key',
    description: 'Makes the command repeatable: the same key is the same answer, and succeeds again',
  },
  ...targetArgs,
} as const satisfies ArgsDef

export function keyOf({ key }: { readonly key?: string | undefined }): { readonly key?: string } {
  return key === undefined ? {} : { key }
}

/** A call accepts one answer; a later answer reports who gave it. */
export async function tellAnswered(
  answered: Answered,
  done: Printable,
  { target, output, item }: { target: Target; output: Output; item: PendingItem | null },
): Promise<ExitCode> {
  if (!answered.accepted) return tellLost(answered, output)
  output.result(answered, () => [output.colours.green(done)])
  if (target.kind === 'store' && item && !(await isTaken(target, item)))
    output.note(
      'Saved. The turn continues when a process with the agent runs, such as your application or `perdure serve`.',
    )
  return exitCodes.ok
}

/** Whether a process continues with the answered call, as far as its log shows within a second. */
async function isTaken(target: Target, { path }: PendingItem): Promise<boolean> {
  const conversation = target.conversation(path.at(-1)!.conversationId)
  const { lastSeq } = await conversation.record()
  for (let tries = 0; tries < 10; tries++) {
    const record = await conversation.record()
    if (record.status !== 'active' || record.lastSeq !== lastSeq) return true
    await sleep(100)
  }
  return false
}

export function tellLost(answered: Extract<Answered, { accepted: false }>, output: Output): ExitCode {
  output.result(answered, () => [lost(answered.resolution, output)])
  return exitCodes.conflict
}

function lost(first: WinningResolution, { colours }: Output): Printable {
  return safe`${colours.yellow('Too late:')} ${first.who} answered first, ${ago(first.at)}: ${decision(first)}.`
}

function decision({ status, value, edited }: WinningResolution): string {
  if (edited) return `approved with ${excerpt(edited.after, false)}`
  if (status === 'resolved') return value === true ? 'approved' : excerpt(value, false)
  const { reason } = Object(value) as { reason?: unknown }
  return typeof reason === 'string' && reason !== '' ? `${status}, because ${reason}` : status
}

/** A value from the command line: JSON, or plain text where the schema asks for a text; `-` reads it from stdin. */
export async function readValue(name: string, given: string, schema: Json = null): Promise<Json> {
  const text = given === '-' ? (await readAll(process.stdin)).trim() : given
  const asksForText = typeof schema === 'object' && schema !== null && 'type' in schema && schema.type === 'string'
  return asksForText && !text.startsWith('"') ? text : parseJson(name, text)
}

export function parseJson(name: string, text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CommandLineError(`${name} is not JSON: ${why.replace(/[.\s]+$/, '')}`)
  }
}
