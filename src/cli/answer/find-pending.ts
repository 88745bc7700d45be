import { CommandLineError, NothingWaitsError } from '../../base/errors/cli-errors.ts'
import type { CallRef } from '../../runtime/answer-call.ts'
import type { PendingItem, View } from '../../view/view.ts'
import type { Target } from '../target/target.ts'
import type { TargetArgs } from '../target/target-args.ts'
import { commandLine } from '../transcript/command-line.ts'
import { shortCallId } from '../transcript/pending-lines.ts'

export type FoundCall = {
  readonly ref: CallRef
  readonly tool: string
  /** Null when it has been answered. */
  readonly item: PendingItem | null
}

type Wanted = { readonly kinds: readonly PendingItem['kind'][]; readonly what: string }

type Asked = TargetArgs & { readonly conversation: string; readonly call?: string | undefined }

/**
 * The call that is meant: the one that waits, or the one whose id ends with `--call`. When it has been answered, it is named all the same:
 * whoever answers it again is told who was first.
 */
export async function findPending(target: Target, args: Asked, wanted: Wanted): Promise<FoundCall> {
  const { conversation: id, call: given } = args
  const view = await target.conversation(id).view()
  const isMeant = (callId: string, kind: PendingItem['kind']): boolean =>
    given === undefined ? wanted.kinds.includes(kind) : callId.endsWith(given)
  const waiting = view.pending.filter(({ callId, kind }) => isMeant(callId, kind))
  const [item] = waiting
  if (waiting.length > 1) throw new CommandLineError(`Several calls wait; name one with --call: ${listOf(waiting)}`)
  if (item) return { ref: item, tool: item.tool, item }
  const answered = answeredRounds(view).findLast(({ callId, kind }) => isMeant(callId, kind))
  if (answered) return { ref: answered, tool: answered.tool, item: null }
  throw new NothingWaitsError(
    id,
    given === undefined ? wanted.what : `an answer under a call that ends with '${given}'`,
    commandLine(['show', id], args),
  )
}

/** Of the last turn. */
function answeredRounds({ log }: View) {
  return (log.turns.at(-1)?.calls ?? []).flatMap(({ callId, name, rounds }) =>
    rounds.filter(({ resolution }) => resolution).map(({ round, kind }) => ({ callId, tool: name, round, kind })),
  )
}

function listOf(items: readonly PendingItem[]): string {
  return items.map(({ callId, tool }) => `${shortCallId(callId)} (${tool})`).join(', ')
}
