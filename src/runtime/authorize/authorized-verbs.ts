import { PerdureError } from '../../base/errors/perdure-error.ts'
import { readOptions } from '../../base/errors/read-options.ts'
import { checkId, checkText, checkWhole } from '../../store/checks.ts'
import type { CallKind, ConversationRecord } from '../../store/records.ts'
import { lowerAscii } from '../../store/rows.ts'
import type { Page } from '../../store/store.ts'
import { readCallRef } from '../answer-call.ts'
import { Refused } from '../permit.ts'
import type { Inspection } from '../read/inspect.ts'
import { type ListedConversation, listedRow, withoutContent } from '../read/lists.ts'
import type { ChangesFor, TenantChanges } from '../read/tenant-changes.ts'
import { readDecision, resolveAny } from '../resolve-call.ts'
import type { Verbs } from '../runtime.ts'
import type { AuthorizeAction } from './authorize.ts'
import { authorizedConversation, authorizedSession, type ConversationOf } from './authorized-handles.ts'
import { type Gate, type Listing, recheckMs } from './gate.ts'
import { type Cursors, type JudgedPage, judgedPage, type ListItem } from './judged-page.ts'

/** The verbs of one identity, and what guards them. */
export type VerbsToGuard = {
  readonly open: Verbs
  /** The same verbs in an empty tenant. A refused verb runs here, so that it looks as if nothing existed. */
  readonly absent: Verbs
  readonly conversationOf: ConversationOf
  readonly gate: Gate
  readonly cursors: Cursors
}

type Filter = Page & { readonly owner?: string; text?: string }

/** The lists that look for text. */
const searched: ReadonlySet<string> = new Set(['conversations', 'sessions'])

const defaultPage = 100

/**
 * The verbs of an identity that `authorize` is asked about. Each member is listed, so a new verb does not compile until its action is decided; a test goes through
 * all of them.
 */
export function authorizedVerbs({ open, absent, conversationOf, gate, cursors }: VerbsToGuard): Verbs {
  /**
   * A page of what the caller may see: by the owner that `authorize` names, or by judging each item. Text is then looked for in what was judged. A store that looked for it first would make
   * the cursor, and the time, tell which words are in hidden titles.
   */
  async function list<Given extends Filter, Item extends ListItem>(
    name: string,
    given: Given | undefined,
    read: (verbs: Verbs, filter: Given) => Promise<Item[]>,
    allows: (item: Item) => Promise<boolean>,
    unjudged: (items: Item[]) => Promise<Item[]> = async (items) => items,
  ): Promise<JudgedPage<Item>> {
    readOptions('filter', given, [])
    const filter = { ...given } as Given
    const listing = await gate.listing()
    if (listing === 'all') return unjudged(await read(open, filter))
    if (listing === 'each') {
      const { before, maxBytes, limit = defaultPage, ...rest } = filter
      checkWhole('limit', limit, 1)
      const text = searched.has(name) ? rest.text : undefined
      if (text !== undefined) {
        checkText(text)
        delete rest.text
      }
      if (maxBytes !== undefined) checkWhole('maxBytes', maxBytes, 1)
      const { tenant, who } = gate.identity
      const judged = {
        read: (page: Page) => read(open, { ...rest, ...page } as Given),
        allows: async (item: Item) => (await allows(item)) && (text === undefined || hasText(item, text)),
        cursors,
        use: JSON.stringify([name, tenant, who]),
      }
      const bounds = { limit, ...(maxBytes === undefined ? {} : { maxBytes }) }
      return judgedPage(judged, { ...bounds, ...(before === undefined ? {} : { before }) })
    }
    const isOfAnother = listing !== 'none' && filter.owner !== undefined && filter.owner !== listing.owner
    if (listing === 'none' || isOfAnother) return read(absent, filter)
    return unjudged(await read(open, { ...filter, owner: listing.owner }))
  }

  const isReadable = (record: ListedConversation): Promise<boolean> => gate.reads(listedRow(record))
  /** A list may name items that the caller may not read; it then shows neither their words nor their token counts. */
  const withoutHiddenMessages = (rows: ListedConversation[]): Promise<ListedConversation[]> =>
    Promise.all(
      rows.map(async (row) => {
        const hasContent = row.lastMessage !== null || row.tokens !== null
        return hasContent && !(await isReadable(row)) ? withoutContent(row) : row
      }),
    )
  const forksOf = (forkOf: string, page?: Page): Promise<ListedConversation[]> =>
    list(
      `forks of ${forkOf}`,
      page,
      (verbs, some) => verbs.conversations({ ...some, forkOf }),
      isReadable,
      withoutHiddenMessages,
    )
  const guard = { gate, forks: forksOf }

  return {
    agents: open.agents,
    conversation: ((id: string, given?: { readonly agent?: string }) => {
      open.conversation(id, given as never)
      const { agent = null } = readOptions('options', given, ['agent'])
      return authorizedConversation(guard, id, agent, conversationOf)
    }) as Verbs['conversation'],
    flow: ((flow: string, id: string) => {
      open.flow(flow, id)
      return authorizedSession(guard, id, (of) => ({ open: open.flow(flow, of), absent: absent.flow(flow, of) }))
    }) as Verbs['flow'],
    async resolve(conversationId, call, value, options) {
      checkId('conversation id', conversationId)
      const ref = readCallRef(call)
      const given = readOptions('options', options, ['key', 'digest'])
      const kind = (await gate.callOf(conversationId, { call }))?.kind ?? null
      const { action, decision, args } = answering(kind, value)
      const nowhere = () => absent.resolve(conversationId, call, value, options)
      if (!(await gate.shows(action, conversationId, { call, ...args }))) return nowhere()
      if (kind === 'flow') return open.resolve(conversationId, call, value, options)
      try {
        // By the verb that was asked for: it refuses a call that waits for something else by now.
        return await resolveAny(conversationOf(conversationId, null, false).open, kind, ref, decision, given)
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        return nowhere()
      }
    },
    conversations: (filter) =>
      list('conversations', filter, (verbs, some) => verbs.conversations(some), isReadable, withoutHiddenMessages),
    sessions: (filter) =>
      list(
        'sessions',
        filter,
        (verbs, some) => verbs.sessions(some),
        ({ id }) => gate.allows('read', id),
      ),
    inbox: (page) =>
      list(
        'inbox',
        page,
        (verbs, some) => verbs.inbox(some),
        ({ conversationId, callId }) => gate.lists(conversationId, callId),
      ),
    async totals(filter) {
      const { owner } = readOptions('filter', filter, ['owner'])
      const listing = await gate.listing()
      if (listing === 'all') return open.totals(filter)
      // Counting would judge every row of the tenant.
      if (listing === 'each') return null
      const isOfAnother = listing !== 'none' && owner !== undefined && owner !== listing.owner
      return listing === 'none' || isOfAnother ? absent.totals(filter) : open.totals({ owner: listing.owner })
    },
    changes: () => allowedChanges(gate, open.changes().changes),
    // What code there is belongs to no conversation.
    flows: () => open.flows(),
    async unquarantine(id) {
      checkId('conversation id', id)
      return ((await gate.shows('unquarantine', id)) ? open : absent).unquarantine(id)
    },
    inspect: (id) => authorizedInspection(gate, open.inspect(id), absent.inspect(id)),
  }
}

/** As stores look for it. */
function hasText(item: ListItem, text: string): boolean {
  const { id, title } = item as Partial<ListedConversation>
  const wanted = lowerAscii(text)
  return [id, title].some((within) => lowerAscii(within ?? '').includes(wanted))
}

type Answering = {
  readonly action: AuthorizeAction
  /** What is answered. */
  readonly decision: unknown
  readonly args?: { readonly args?: unknown }
}

/** What an answer from anywhere does to a call: `true` and `false` decide an approval, everything else is an answer. */
function answering(kind: CallKind | null, value: unknown): Answering {
  if (kind !== 'approval') return { action: 'answer', decision: value }
  try {
    const decision = readDecision(value)
    const { approved, args } = decision
    return { action: approved ? 'approve' : 'deny', decision, ...(args === undefined ? {} : { args: { args } }) }
  } catch (error) {
    // What decides nothing is refused by the verb, if the caller may hear of the call.
    if (PerdureError.isInstance(error)) return { action: 'approve', decision: value }
    throw error
  }
}

function authorizedInspection(gate: Gate, open: Inspection, absent: Inspection): Inspection {
  const { id } = open.ref
  const ask = async <T>(action: AuthorizeAction, run: (inspection: Inspection) => Promise<T>): Promise<T> =>
    run((await gate.shows(action, id)) ? open : absent)
  return {
    ref: open.ref,
    record: async (action = 'read', about) => ((await gate.shows(action, id, about)) ? open : absent).record(),
    waitsFor: () => ask('read', (inspection) => inspection.waitsFor()),
    work: () => ask('read', (inspection) => inspection.work()),
    modelCalls: (range) => ask('audit', (inspection) => inspection.modelCalls(range)),
    explain: (turnRef, range) => ask('audit', (inspection) => inspection.explain(turnRef, range)),
    snapshot: () => ask('read', (inspection) => inspection.snapshot()),
    turns: (page) => ask('read', (inspection) => inspection.turns(page)),
    async *pages(range, options) {
      yield* ((await gate.shows('read', id)) ? open : absent).pages(range, options)
    },
    file: (blob) => ask('read', (inspection) => inspection.file(blob)),
  }
}

/** How many verdicts a feed remembers. */
const mostVerdicts = 2_000

/** Whether the caller may read a conversation. `authorize` is asked about `record`, the newest one known. */
type Verdict = { record: ConversationRecord; readonly ask: () => Promise<boolean> }

/** Which changes of its tenant a caller may see. Verdicts are renewed after 30 seconds, as for streams. */
export function allowedChanges(gate: Gate, changes: TenantChanges): ChangesFor {
  const listing = remembered(gate, () => gate.listing())
  const verdicts = new Map<string, Verdict>()

  async function judged(record: ConversationRecord): Promise<boolean> {
    const known = verdicts.get(record.id)
    verdicts.delete(record.id)
    // A verdict is about one conversation: under an id that was deleted, another user may have opened another.
    const isSame = known?.record.createdAt === record.createdAt && known.record.owner === record.owner
    const verdict = isSame ? known : newVerdict(record)
    verdict.record = record
    verdicts.set(record.id, verdict)
    if (verdicts.size > mostVerdicts) verdicts.delete(verdicts.keys().next().value!)
    return verdict.ask()
  }

  function newVerdict(first: ConversationRecord): Verdict {
    const verdict: Verdict = {
      record: first,
      ask: remembered(gate, () => gate.reads(verdict.record)),
    }
    return verdict
  }

  return {
    changes,
    seesAll: async () => (await listing()) === 'all',
    async allows(record) {
      const found: Listing = await listing()
      if (found === 'all' || found === 'none') return found === 'all'
      return found === 'each' ? judged(record) : record.owner === found.owner
    },
    reads: judged,
  }
}

/** Asks again when the answer is 30 seconds old, or asking failed. */
function remembered<T>({ clock }: Gate, ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | null = null
  let askedAt = 0
  return () => {
    if (answer && clock.now() - askedAt < recheckMs) return answer
    askedAt = clock.now()
    const asked = ask()
    answer = asked
    asked.catch(() => {
      if (answer === asked) answer = null
    })
    return asked
  }
}
