import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { answerArgs, findPending, readValue, tellLost } from '../answer/find-pending.ts'
import { command, exitCodes } from '../command.ts'
import { withTarget } from '../target/open-target.ts'
import { targetArgs } from '../target/target-args.ts'

const { key: _, ...callArgs } = answerArgs

export const extend = command({
  args: {
    ...callArgs,
    in: { type: 'string', valueHint: 'time', description: 'The deadline, from now: 500ms, 90s, 30m, 2h or 3d' },
    never: { type: 'boolean', description: 'Take the deadline away: the call waits until it is answered' },
  },
  about: 'Exits with code 4 when the call has been answered or has expired, and prints how.',
  examples: [
    ['extend ticket-42 --in 2h', 'two hours from now'],
    ['extend ticket-42 --call 3f2a9c1e --never', 'one of several, without a deadline'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const expiresInMs = deadlineOf(args.in, args.never)
      const { ref, tool } = await findPending(target, args, {
        kinds: ['approval', 'elicitation', 'client_exec', 'recovery'],
        what: 'an answer',
      })
      const extended = await target.conversation(args.conversation).extendDeadline(ref, { expiresInMs })
      if (!extended.accepted) return tellLost(extended, output)
      const { expiresAt } = extended
      const until = expiresAt === null ? 'it is answered' : new Date(expiresAt).toISOString()
      output.result(extended, () => [output.colours.green(`Extended: ${tool} waits until ${until}.`)])
      return exitCodes.ok
    }),
})

export const note = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id' },
    name: { type: 'positional', required: true, description: 'What kind of note it is' },
    data: { type: 'positional', required: false, description: 'JSON; - reads stdin; default: null' },
    ...targetArgs,
  },
  about: 'A note is in the history, the view and the live stream of the conversation, and never in a prompt.',
  examples: [
    [`note ticket-42 rated '{"stars":5}'`, 'with data'],
    ['note ticket-42 escalated', 'without'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const data = args.data === undefined ? null : await readValue('The data', args.data)
      const noted = await target.conversation(args.conversation).note(args.name, data)
      output.result(noted, () => [`Noted as event ${noted.seq}.`])
      return exitCodes.ok
    }),
})

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function deadlineOf(time: string | undefined, never: boolean | undefined): number | null {
  if ((time === undefined) === !never) throw new CommandLineError('Pass either --in with a time, or --never')
  if (time === undefined) return null
  const [, count, unit] = /^(\d{1,12})(ms|s|m|h|d)$/.exec(time) ?? []
  const ms = Number(count) * (unitMs[unit ?? ''] ?? Number.NaN)
  if (!Number.isSafeInteger(ms) || ms < 1)
    throw new CommandLineError(`--in must be a time such as 30m or 2h, not '${time}'`)
  return ms
}

export const retry = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id' },
    turn: { type: 'string', valueHint: 'turnId', description: 'Another turn than the newest; all after it go with it' },
    key: { type: 'string', valueHint: 'key', description: 'Makes it safe to repeat the command' },
    force: { type: 'boolean', description: 'Also where a tool was started that must not be repeated by itself' },
    ...targetArgs,
  },
  about:
    'The log keeps what was said; views and prompts show the new variant. The model is told what the tools of the old one did. If no process works on the store, the turn begins when one does.',
  examples: [
    ['retry ticket-42', 'the newest turn'],
    ['retry ticket-42 --turn 0197… --force', 'another one, whose tools had an effect'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const { conversation, turn, key, force } = args
      const options = { ...(key === undefined ? {} : { key }), ...(force ? { force } : {}) }
      const sent = await target.conversation(conversation).retry(turn, options)
      output.result(sent, () => [`Sent again, as turn ${sent.turnId}.`])
      return exitCodes.ok
    }),
})
