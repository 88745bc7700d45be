import { NoModelCallsError } from '../../base/errors/cli-errors.ts'
import type { RemoteConversation } from '../../client/conversation.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { withTarget } from '../target/open-target.ts'
import { targetArgs } from '../target/target-args.ts'
import { table } from '../terminal/table.ts'
import { ago } from '../terminal/time.ts'
import { commandLine } from '../transcript/command-line.ts'
import { eventText } from '../transcript/event-text.ts'

export const explain = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id' },
    call: { type: 'string', valueHint: 'turnRef', description: 'Which model call; default: the last' },
    calls: { type: 'boolean', description: 'List the model calls instead' },
    ...targetArgs,
  },
  about: 'The answer to "why did it forget that?". Needs an agent whose audit is not off.',
  examples: [
    ['explain ticket-42', 'how each event was in the last prompt'],
    ['explain ticket-42 --calls', 'which model calls there were'],
    ['explain ticket-42 --call 0197…/2 --json', 'one of them, for a script'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const { bold, dim, yellow } = output.colours
      const conversation = target.conversation(args.conversation)
      const modelCalls = (await conversation.modelCalls()).toSorted((one, other) => one.at - other.at)
      const last = modelCalls.at(-1)
      if (!last) throw new NoModelCallsError(args.conversation)
      if (args.calls) {
        const rows = modelCalls.map((call) => [call.turnRef, call.status, modelName(call.model), ago(call.at)])
        output.result({ modelCalls }, () => table(['CALL', 'STATUS', 'MODEL', 'AT'].map(bold), rows, output.width))
        return exitCodes.ok
      }
      const turnRef = args.call ?? last.turnRef
      const explanations = await conversation.explain(turnRef)
      const texts = output.isJson ? new Map<number, string>() : await textsOf(conversation)
      output.result({ turnRef, explanations }, () => {
        const rows = explanations.map(({ seq, type, shown, why }) => [
          String(seq),
          type,
          shown === 'verbatim' ? shown : shown === 'not_shown' ? dim(shown) : yellow(shown),
          why,
          texts.get(seq) ?? '',
        ])
        return [
          dim(`model call ${turnRef}`),
          ...table(['SEQ', 'EVENT', 'SHOWN', 'WHY', 'WHAT'].map(bold), rows, output.width),
        ]
      })
      if (modelCalls.length > 1)
        output.note(`Other calls: ${commandLine(['explain', args.conversation, '--calls'], args)}`)
      return exitCodes.ok
    }),
})

/** What each event says, in a few words. */
async function textsOf(conversation: RemoteConversation): Promise<Map<number, string>> {
  const texts = new Map<number, string>()
  for await (const events of conversation.eventPages({ after: 0 })) {
    for (const event of events) texts.set(event.seq, eventText(event))
  }
  return texts
}

function modelName(model: unknown): string {
  const { provider = '', modelId = '' } = Object(model) as { provider?: unknown; modelId?: unknown }
  return `${String(provider)} ${String(modelId)}`.trim()
}
