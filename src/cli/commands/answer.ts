import { CommandLineError } from '../../base/errors/cli-errors.ts'
import type { Json } from '../../base/json.ts'
import type { PendingItem } from '../../view/view.ts'
import { answerArgs, keyOf } from '../answer/answer-args.ts'
import { findPending } from '../answer/find-pending.ts'
import { readValue } from '../answer/read-value.ts'
import { tellAnswered } from '../answer/tell-answered.ts'
import { command } from '../command.ts'
import { Interrupted } from '../interrupt.ts'
import type { Output } from '../output.ts'
import { withTarget } from '../target/open-target.ts'
import { pendingLines } from '../transcript/pending-lines.ts'

export const answer = command({
  args: {
    ...answerArgs,
    value: {
      type: 'positional',
      required: false,
      description: 'JSON, or plain text where a text is asked for; - reads stdin',
    },
  },
  about:
    'Without a value, a person at a terminal is asked field by field. The answer is checked against the schema of the question. Of all who answer, one wins: whoever comes later is told who did, with exit code 4.',
  examples: [
    [`answer ticket-42 '{"size":"M"}'`, 'to a form'],
    ['answer ticket-42', 'asked at the terminal'],
    [`answer ticket-42 '"rerun"'`, 'to an interrupted call: "rerun", "report" or {"result": …}'],
    [`answer ticket-42 '{"ok":true,"result":"Paris"}'`, 'in place of a client tool'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const wanted = { kinds: ['elicitation', 'client_exec', 'recovery'], what: 'an answer' } as const
      const { ref, tool, item } = await findPending(target, args, wanted)
      const value =
        args.value === undefined
          ? await asked(item, { id: args.conversation, output })
          : await readValue('The value', args.value, item?.schema ?? null)
      const answered = await target.conversation(args.conversation).answer(ref, value, keyOf(args))
      return tellAnswered(answered, `Answered: ${tool}.`, output)
    }),
})

/** Of a call that has been answered nothing is asked any more. */
async function asked(item: PendingItem | null, { id, output }: { id: string; output: Output }): Promise<Json> {
  if (!item) return null
  if (!output.isInteractive) {
    const schema = JSON.stringify(item.schema)
    throw new CommandLineError(
      `The value is missing, and nobody sits at a terminal; its JSON Schema: ${schema}`,
      'answer',
    )
  }
  const style = { colours: output.colours, isFull: true, args: {} }
  for (const line of pendingLines(id, item, style).slice(0, 2)) output.note(line)
  const [{ askDecision }, { clackAsker }] = await Promise.all([
    import('../chat/ask-decision.ts'),
    import('../answer/clack-asker.ts'),
  ])
  const decision = await askDecision(item, clackAsker)
  if (decision?.verb !== 'answer') throw new Interrupted()
  return decision.value
}
