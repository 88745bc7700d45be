import { type FlowQuestion, flowCallId, schemaOf, tagOf } from '../log/flow-questions.ts'
import type { ToolCallWrite } from './records.ts'

/**
 * The row of a question that a session asked: a cache over its log, like the row of a suspended call, so that one query lists both. `round` is the `seq` of the
 * question, `args` its tag and `prompt` the JSON Schema of the answer.
 */
export function flowCall(
  session: string,
  {
    seq,
    op,
    end,
  }: Pick<FlowQuestion, 'seq' | 'op'> & {
    readonly end?: Pick<NonNullable<FlowQuestion['end']>, 'status' | 'value'> | null
  },
): ToolCallWrite & { readonly status: NonNullable<ToolCallWrite['status']> } {
  return {
    id: flowCallId(session, seq),
    name: op.kind === 'request' ? op.request : op.kind,
    executor: 'human',
    kind: 'flow',
    round: seq,
    args: tagOf(op),
    prompt: schemaOf(op),
    status: end?.status ?? 'pending',
    ...(end?.status === 'resolved' ? { result: end.value } : {}),
  }
}

/** Why the question of a session has no deadline: only its flow ends it. */
export function noDeadline(callId: string): string {
  return `is for calls; '${callId}' is a question of a session, so let its flow race it with a sleep`
}

/** Why the row of a question is not ended by its id: only the log of the session says what an answer means. */
export function ofSession(callId: string, session: string): string {
  return `'${callId}' is a question of the session '${session}'; answer it with \`resume\` or \`runtime.resolve\``
}
