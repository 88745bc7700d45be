import { doneBeforeText } from '../../log/superseded.ts'
import { type InboxItem, listStatuses } from '../../runtime/read/lists.ts'
import { command, countOf, exitCodes } from '../command.ts'
import { withTarget } from '../target/open-target.ts'
import { targetArgs } from '../target/target-args.ts'
import { ago, duration, table } from '../terminal/text.ts'
import { commandLine, problemNotes, shortCallId } from '../transcript/command-line.ts'
import { excerpt } from '../transcript/view-lines.ts'

export const list = command({
  args: {
    status: {
      type: 'enum',
      options: [...listStatuses],
      description: 'Only conversations with this status',
    },
    agent: { type: 'string', description: 'Only conversations of this agent; flow:<name> for sessions of a flow' },
    limit: { type: 'string', valueHint: 'n', description: 'How many at most; default: 50' },
    before: { type: 'string', valueHint: 'id', description: 'Continue after the last conversation of an earlier page' },
    ...targetArgs,
  },
  examples: [
    ['list', 'the newest fifty'],
    ['list --status waiting --agent support', 'conversations that wait for an answer'],
    ['list --json --url http://127.0.0.1:4111', 'from a running server, for a script'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const { status, agent, before } = args
      const limit = countOf('limit', args.limit) ?? 50
      const filter = { ...(status ? { status } : {}), ...(agent ? { agent } : {}) }
      const found = await upTo(limit, before, async (page) => {
        const { conversations, before: next } = await target.conversations({ ...filter, ...page })
        return { items: conversations, before: next }
      })
      const page = { conversations: found.items, before: found.before }
      output.result(page, () => {
        if (page.conversations.length === 0) return ['There are no conversations.']
        const rows = page.conversations.map((record) => [
          record.id,
          record.status,
          record.agent ?? '',
          String(record.lastSeq),
          ago(record.createdAt),
          record.title ?? '',
        ])
        return table(
          ['ID', 'STATUS', 'AGENT', 'EVENTS', 'CREATED', 'TITLE'].map(output.colours.bold),
          rows,
          output.width,
        )
      })
      for (const note of problemNotes(page.conversations, args)) output.note(note)
      if (page.before !== null) {
        const filters = [...(status ? ['--status', status] : []), ...(agent ? ['--agent', agent] : [])]
        const next = commandLine(['list', ...filters, '--limit', String(limit), '--before', page.before], args)
        output.note(`More: ${next}`)
      }
      return exitCodes.ok
    }),
})

export const inbox = command({
  args: {
    limit: { type: 'string', valueHint: 'n', description: 'How many at most; default: 50' },
    before: { type: 'string', valueHint: 'call', description: 'Continue after the last call of an earlier page' },
    ...targetArgs,
  },
  about:
    'Lists all conversations and sessions, the newest first. A call of a child agent is shown with the conversations above it.',
  examples: [
    ['inbox', 'every waiting call and question of a session'],
    ['inbox --json | jq -r .items[].conversationId', 'in a script'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const limit = countOf('limit', args.limit) ?? 50
      const page = await upTo(limit, args.before, (asked) => target.inbox(asked))
      output.result(page, () => {
        if (page.items.length === 0) return ['Nothing waits for an answer.']
        const rows = page.items.map((item) => [
          item.path.map((step) => step.conversationId).join(' > '),
          item.kind === 'flow' ? `seq ${item.seq}` : shortCallId(item.callId),
          item.quarantinedAt === undefined ? item.kind : `${item.kind} (quarantined)`,
          ago(item.createdAt),
          item.expiresAt === null ? 'never' : `in ${duration(item.expiresAt - Date.now())}`,
          whatWaits(item),
        ])
        const heading = ['CONVERSATION', 'CALL', 'KIND', 'SINCE', 'EXPIRES', 'TOOL'].map(output.colours.bold)
        return table(heading, rows, output.width)
      })
      const [first] = page.items
      if (first) output.note(`Look closer: ${commandLine(showing(first), args)}`)
      const question = page.items.find((item) => item.kind === 'flow')
      if (question) {
        const { flow, conversationId, seq } = question
        output.note(
          `Answer: ${commandLine(['flows', 'resume', flow, conversationId, '{}', '--seq', String(seq)], args)}`,
        )
      }
      if (page.before !== null) output.note(`More: ${commandLine(['inbox', '--before', page.before], args)}`)
      return exitCodes.ok
    }),
})

/** The tool, what it will do where that is known, whether the same was done before, and the arguments. */
function whatWaits(item: InboxItem): string {
  if (item.kind === 'flow') return `${item.flow} ${excerpt(item.args, false)}`
  const told = item.description === undefined ? '' : `: ${item.description}`
  const before = item.doneBefore ? ` (${doneBeforeText[item.doneBefore.outcome]})` : ''
  return `${item.tool}${told}${before} ${excerpt(item.args, false)}`
}

function showing(item: InboxItem): string[] {
  return item.kind === 'flow'
    ? ['flows', 'show', item.flow, item.conversationId]
    : ['show', item.path[0]!.conversationId]
}

/** The most that a server lists at once. */
const mostAtOnce = 200

/** Reads as many pages as `limit` items take. `before` asks for the page after them; null when there is none. */
export async function upTo<Item>(
  limit: number,
  before: string | undefined,
  read: (page: { limit: number; before?: string }) => Promise<{ items: readonly Item[]; before: string | null }>,
): Promise<{ items: readonly Item[]; before: string | null }> {
  const items: Item[] = []
  for (let cursor: string | null = before ?? null; ; ) {
    const most = Math.min(limit - items.length, mostAtOnce)
    const page = await read({ limit: most, ...(cursor === null ? {} : { before: cursor }) })
    items.push(...page.items)
    cursor = page.before
    if (cursor === null || items.length >= limit) return { items, before: cursor }
  }
}
