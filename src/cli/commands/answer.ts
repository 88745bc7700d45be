import { CommandLineError } from '../../base/errors/cli-errors.ts'
import type { Json } from '../../base/json.ts'
import type { PendingItem, View } from '../../view/view.ts'
import { answerArgs, findPending, keyOf, readValue, tellAnswered } from '../answer/find-pending.ts'
import type { Asker } from '../chat/ask-decision.ts'
import { command, countOf, exitCodes, Interrupted } from '../command.ts'
import type { Output } from '../output.ts'
import { withTarget } from '../target/open-target.ts'
import { targetArgs } from '../target/target-args.ts'
import { type Printable, safely } from '../terminal/text.ts'
import { commandLine } from '../transcript/command-line.ts'
import { pendingLines } from '../transcript/pending-lines.ts'

export const answer = command({
  args: {
    ...answerArgs,
    value: {
      type: 'positional',
      required: false,
      description: 'JSON, or plain text if the question asks for a text; - reads stdin',
    },
  },
  about:
    'Without a value, it asks for each field at the terminal. The answer is checked against the schema of the question. A call accepts one answer: a later one exits with code 4 and prints who answered.',
  examples: [
    [`answer ticket-42 '{"size":"M"}'`, 'to a form'],
    ['answer ticket-42', 'asks at the terminal'],
    [`answer ticket-42 '"rerun"'`, 'to an interrupted call: "rerun", "report" or {"result": …}'],
    [`answer ticket-42 '{"ok":true,"result":"Paris"}'`, 'in place of a client tool'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const wanted = { kinds: ['elicitation', 'client_exec', 'recovery'], what: 'an answer' } as const
      const { ref, tool, item, view } = await findPending(target, args, wanted)
      const value =
        args.value === undefined
          ? item && (await askValue(item, view, output))
          : await readValue('The value', args.value, item?.schema ?? null)
      const answered = await target.conversation(args.conversation).answer(ref, value, keyOf(args))
      return tellAnswered(answered, `Answered: ${tool}.`, { target, output, item })
    }),
})

async function askValue(item: PendingItem, view: View, output: Output): Promise<Json> {
  if (!output.isInteractive) {
    const schema = JSON.stringify(item.schema)
    throw new CommandLineError(`The value is missing, and this is no terminal; its JSON Schema: ${schema}`, 'answer')
  }
  for (const line of pendingLines(item, view, { colours: output.colours, isFull: true })) output.note(line)
  const { askDecision } = await import('../chat/ask-decision.ts')
  try {
    const decision = await askDecision(item, await clackAsker())
    if (decision?.verb !== 'answer') throw new Interrupted()
    return decision.value
  } catch (error) {
    if (error instanceof Interrupted) output.note('Nothing was answered: the call keeps waiting.')
    throw error
  }
}

/** Asks one question after the other. Ctrl-C and Escape end the command. */
async function clackAsker(): Promise<Asker> {
  const { isCancel, log, select, text } = await import('@clack/prompts')
  const message = (label: string): string => safely(label.replace(/\s*[›:]$/, ''))
  const answered = <T>(given: T): Exclude<T, symbol> => {
    if (isCancel(given)) throw new Interrupted()
    return given as Exclude<T, symbol>
  }
  return {
    async ask(label, initial = '') {
      return answered(await text({ message: message(label), initialValue: initial, defaultValue: '' }))
    },
    async choose(label, choices) {
      const options = choices.map((value) => ({ value: value as string, label: safely(value) }))
      const chosen = answered(await select({ message: message(label), options }))
      return choices.find((choice) => choice === chosen) ?? null
    },
    say: (said) => log.message(safely(said)),
  }
}

export const approve = command({
  args: {
    ...answerArgs,
    args: {
      type: 'string',
      valueHint: 'json',
      description: "Arguments to use instead of the model's; - reads stdin",
    },
  },
  about: 'A call accepts one answer: a later one exits with code 4 and prints who answered.',
  examples: [
    ['approve ticket-42', 'the one call that waits there'],
    ['approve ticket-42 --call 3f2a9c1e', 'one of several'],
    [`approve ticket-42 --args '{"orderId":"o-17","cents":500}'`, 'with other arguments; both are recorded'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const edited = args.args === undefined ? {} : { args: await readValue('--args', args.args) }
      const { ref, tool, item } = await findPending(target, args, {
        kinds: ['approval'],
        what: 'an approval',
      })
      const answered = await target.conversation(args.conversation).approve(ref, { ...edited, ...keyOf(args) })
      return tellAnswered(answered, `Approved: ${tool}.`, { target, output, item })
    }),
})

export const deny = command({
  args: {
    ...answerArgs,
    reason: { type: 'string', valueHint: 'text', description: 'The reason; the model reads it' },
  },
  about: 'The call does not run, and the agent continues without it.',
  examples: [
    ['deny ticket-42', 'the one call that waits there'],
    [`deny ticket-42 --reason 'The order is too old.'`, 'with a reason that the model reads'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const { ref, tool, item } = await findPending(target, args, {
        kinds: ['approval'],
        what: 'an approval',
      })
      const options = { ...keyOf(args), ...(args.reason ? { reason: args.reason } : {}) }
      const answered = await target.conversation(args.conversation).deny(ref, options)
      return tellAnswered(answered, `Denied: ${tool}.`, { target, output, item })
    }),
})

export const fork = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id' },
    at: { type: 'string', valueHint: 'seq', description: 'The last event to copy; default: all' },
    as: { type: 'string', valueHint: 'id', description: 'The id of the copy; default: a new one' },
    continue: { type: 'boolean', description: 'Continue with the next step of its log' },
    ...targetArgs,
  },
  about:
    'The copy does nothing until a message, an answer or --continue. `show` prints the number of each message as #seq.',
  examples: [
    ['fork ticket-42 --at 7 --as ticket-42-b', 'up to event 7, under a name of its own'],
    ['fork ticket-42 --json', 'all of it; prints the id of the copy'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const at = countOf('at', args.at)
      const options = { ...(at === undefined ? {} : { at }), ...(args.as ? { id: args.as } : {}) }
      const copy = await target.conversation(args.conversation).fork(options)
      if (args.continue) await copy.continue()
      output.result({ id: copy.id, from: args.conversation, at: at ?? null }, () => [copy.id])
      output.note(`Look at it: ${commandLine(['show', copy.id], args)}`)
      return exitCodes.ok
    }),
})

export const rename = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id' },
    title: { type: 'positional', required: false, description: 'At most 1,000 characters; none with --none' },
    none: { type: 'boolean', description: 'Take the title away' },
    ...targetArgs,
  },
  about: 'Lists and inboxes show the title. An agent that generates titles leaves one that was given alone.',
  examples: [
    ["rename ticket-42 'Refund of order 42'", 'its title from now on'],
    ['rename ticket-42 --none', 'without a title'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      if ((args.title === undefined) !== (args.none ?? false))
        throw new CommandLineError('Give a title, or --none to take it away', 'rename')
      const title = args.title ?? null
      await target.conversation(args.conversation).rename(title)
      output.result({ id: args.conversation, title }, () => [
        title === null ? 'It has no title.' : `Its title is ${title}.`,
      ])
      return exitCodes.ok
    }),
})

export const cancel = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id' },
    turn: {
      type: 'string',
      valueHint: 'turnId',
      description: 'Another turn than the open one, such as a queued one',
    },
    ...targetArgs,
  },
  about:
    'Also ends its child agents and withdraws its questions. If no process works on the store, the turn ends when one does.',
  examples: [
    ['cancel ticket-42', 'the open turn'],
    ['cancel ticket-42 --turn 0197…', 'one in the queue'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const outcome = await target.conversation(args.conversation).cancel(args.turn ? { turnId: args.turn } : {})
      output.result({ outcome }, () => [told(outcome?.status ?? null)])
      return exitCodes.ok
    }),
})

function told(status: string | null): Printable {
  if (status === null) return 'No turn was open: there was nothing to cancel.'
  if (status === 'terminating')
    return 'The cancel is recorded. The turn ends when a process that has the agent works on it.'
  return `The turn is ${status}.`
}
