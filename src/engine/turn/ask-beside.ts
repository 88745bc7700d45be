import { uuidV7 } from '../../base/uuid-v7.ts'
import type { LanguageModel } from '../../define/language-model.ts'
import { streamModel } from '../../model/stream-model.ts'
import type { Reduction } from '../../prompt/render/reduction.ts'
import { auditAttempts } from './audit.ts'
import type { TurnContext } from './turn-context.ts'

export type Question = {
  readonly model: LanguageModel
  readonly system: string
  readonly text: string
  /** What the audit keeps it under. */
  readonly turnRef: string
  /** The seq up to which the log is in the question. */
  readonly seen: number
  readonly reduction?: Reduction
  /** What is taken of the answer; empty when it has nothing that is of use. */
  readonly read: (answer: string) => string
  /** What is logged then, and when there is no answer. */
  readonly onFailure: string
}

/** One question to a model beside the turns, without tools and watchers. Empty when nothing came of it. */
export async function askBeside(
  { model, system, text, read, onFailure, ...audited }: Question,
  context: TurnContext,
  signal: AbortSignal,
): Promise<string> {
  const { agent, clock, logger, tenant, id } = context
  const prompt = [
    { role: 'system' as const, content: system },
    { role: 'user' as const, content: [{ type: 'text' as const, text }] },
  ]
  const audit = auditAttempts(context, { ...audited, prompt })
  const message = await streamModel(
    {
      models: [model],
      prompt,
      tools: [],
      settings: {},
      retry: agent.retry,
      signal,
      clock,
      newCallId: () => uuidV7(clock.now()),
      onAttempt: audit.onAttempt,
      redact: context.redact,
    },
    () => {},
  )
  await audit.written()
  const answer = read(message.parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
  if (message.status === 'complete' && answer !== '') return answer
  if (message.status !== 'aborted') {
    logger.warn(onFailure, { tenant, id, error: message.error ?? 'the model gave no text of use' })
  }
  return ''
}
