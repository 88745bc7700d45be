import type { Case, Mutant } from './mutant.ts'

const gate = 'src/runtime/authorize/gate.ts'
const handles = 'src/runtime/authorize/authorized-handles.ts'
const verbs = 'src/runtime/authorize/authorized-verbs.ts'
const page = 'src/runtime/authorize/judged-page.ts'
const story = (test: string): Case => ({ file: 'test/stories/authorize.test.ts', test })
const unit = (test: string): Case => ({ file: 'src/runtime/authorize/authorized-verbs.test.ts', test })
const calls = (test: string): Case => ({ file: 'test/stories/authorize-calls.test.ts', test })
const unopened = (test: string): Case => ({ file: 'test/stories/authorize-new.test.ts', test })
const users = (test: string): Case => ({ file: 'test/server/users.test.ts', test })

/** Bugs in who may do what. */
export const authorizeMutants: readonly Mutant[] = [
  {
    name: 'a watcher of an id that is not there yet gets what another user opens there',
    edits: [{ file: handles, find: 'let isUnjudged = isNew', replace: 'let isUnjudged = isNew && false' }],
    killedBy: [unopened('tells who watches it nothing of what another user opens there (predicate)')],
  },
  {
    name: 'a watcher of a deleted conversation gets what another user opens there',
    edits: [{ file: handles, find: "if (hasTold && event.type === 'snapshot') isUnjudged = true", replace: '' }],
    killedBy: [unopened('tells who watches it after deleting it nothing of what another user opens there')],
  },
  {
    name: 'what was asked about as new is read after another user has opened it',
    edits: [{ file: gate, find: 'return isAllowed && !isNew', replace: 'return isAllowed || isNew' }],
    killedBy: [unopened('view finds nothing where another user opened it since it was asked')],
  },
  {
    name: 'retry replaces a turn that another user opened while a snapshot was loaded',
    edits: [
      {
        file: 'src/runtime/send-message.ts',
        find: 'if (sending.isNew && !standing) throw new ConversationNotFoundError(sending.id)',
        replace: 'void standing',
      },
    ],
    killedBy: [unopened('retry leaves a log alone that another user began while a snapshot was loaded')],
  },
  {
    name: 'an answer is judged by the row while the store fails',
    edits: [
      {
        file: 'src/runtime/authorize/asked-call.ts',
        find: 'if (PerdureError.isInstance(error) && unreadableLog.has(error.code)) return null',
        replace: 'if (PerdureError.isInstance(error) || unreadableLog.has(error as never)) return null',
      },
    ],
    killedBy: [calls('is not asked by the row while the store fails to read the log')],
  },
  {
    name: 'totals count what a predicate hides',
    edits: [
      {
        file: verbs,
        find: "if (listing === 'each') return null",
        replace: "if (listing === 'each') return open.totals(filter)",
      },
    ],
    killedBy: [users('totals ask once, however many rows there are, where each would be judged')],
  },
  {
    name: 'a conversation stays in the feed of a tenant after its permission is gone',
    edits: [
      {
        file: 'src/server/routes/tenant.ts',
        find: 'if (permission) events.onClosed(permission.onLost(() => events.cut()))',
        replace: '',
      },
    ],
    killedBy: [users('takes a watched conversation and its row out of the feed of the tenant, which stays open')],
  },
  {
    name: 'an approval with other arguments is judged by those that were asked for',
    edits: [
      {
        file: 'src/runtime/authorize/asked-call.ts',
        find: 'return round ? asAsked(call, round, about.args as Json | undefined) : endedCall(place, ref)',
        replace: 'return round ? asAsked(call, round) : endedCall(place, ref)',
      },
    ],
    killedBy: [calls('lets a smaller refund be approved where the one that was asked for may not be')],
  },
  {
    name: 'arguments that an approval puts in are not judged where it is taken',
    edits: [
      {
        file: 'src/runtime/answer-verbs.ts',
        find: 'if (mayApprove && !(await mayApprove(id, asAsked(pending, round, after)))) throw new Refused()',
        replace: 'void [mayApprove, asAsked, Refused]',
      },
    ],
    killedBy: [calls('judges what the tool will get, whatever was shown to the first question')],
  },
  {
    name: 'authorize is told of a call what its row says',
    edits: [
      {
        file: 'src/runtime/authorize/asked-call.ts',
        find: 'const call = await callInLog(place, ref).catch(unreadable)',
        replace: 'const call = null as never as Awaited<ReturnType<typeof callInLog>> | ReturnType<typeof unreadable>',
      },
    ],
    killedBy: [calls('takes kind and arguments from the log, also where the row has another kind')],
  },
  {
    name: 'a scope that says system is not asked about',
    edits: [
      {
        file: 'src/runtime/verbs.ts',
        find: 'isSystemScope(scope)',
        replace: '(scope as { system?: boolean }).system === true',
      },
    ],
    killedBy: [story('is not asked about the system, nor about what the engine does')],
  },
  {
    name: 'a child agent is judged as itself',
    edits: [
      { file: gate, find: 'return above ?? readRecord(store, id)', replace: 'return readRecord(store, id) ?? above' },
    ],
    killedBy: [story('judges a child agent as the conversation that callers talk to')],
  },
  {
    name: 'an answer that is no verdict is allowed',
    edits: [
      {
        file: gate,
        find: "throw new Error(`it returned ${shown(given)}; return true, false, 'all' or { owner: <user id> }`)",
        replace: "return given === Symbol() ? false : 'all'",
      },
    ],
    killedBy: [unit('nothing is no verdict: the verb is refused, and retryable')],
  },
  {
    name: 'a filter with more in it than the owner is taken by its owner',
    edits: [
      { file: gate, find: "readMembers('verdict',", replace: "readOptions('verdict'," },
      { file: gate, find: 'import { readMembers, shown }', replace: 'import { readOptions, shown }' },
    ],
    killedBy: [unit('a filter with more in it is no verdict: the verb is refused, and retryable')],
  },
  {
    name: 'a filter is no verdict about a new conversation',
    edits: [
      {
        file: gate,
        find: 'return verdict.owner === (conversation ? conversation.owner : this.identity.who)',
        replace: 'return conversation === null || verdict.owner === conversation.owner',
      },
    ],
    killedBy: [story('lets a filter open what its owner opens, and nothing in the name of others')],
  },
  {
    name: 'a list with a predicate shows everything',
    edits: [{ file: gate, find: "if (verdict === true) return 'each'", replace: "if (verdict === true) return 'all'" }],
    killedBy: [story('lets each of two users work on what they opened, and hides what the other did')],
  },
  {
    name: 'a stream does not ask again',
    edits: [{ file: gate, find: 'if (isAllowed) again()', replace: 'if (isAllowed || !isStopped) again()' }],
    killedBy: [story('is asked again by streams, which end when it says no and fail when it throws')],
  },
  {
    name: 'a stream asks again only once',
    edits: [
      {
        file: gate,
        find: 'if (isAllowed) again()\n      else lost(failure)',
        replace: 'if (!isAllowed) lost(failure)',
      },
    ],
    killedBy: [story('is asked again by streams, which end when it says no and fail when it throws')],
  },
  {
    name: 'a feed that users share is watched in the name of the first',
    edits: [
      {
        file: 'src/server/routes/conversations.ts',
        find: 'const shared = permission?.conversation ?? conversation',
        replace: 'const shared = conversation',
      },
    ],
    killedBy: [users('ends live, and leaves the streams of others open')],
  },
  {
    name: 'a page of the AI SDK keeps its stream',
    edits: [
      {
        file: 'src/server/live/follow-turn.ts',
        find: 'if (permission) subscription.onClosed(permission.onLost(() => client.lost()))',
        replace: 'if (permission) subscription.onClosed(permission.onLost(() => {}))',
      },
    ],
    killedBy: [users('ends uiResume, and leaves the streams of others open')],
  },
  {
    name: 'a message lands in what another user opened meanwhile',
    edits: [
      { file: 'src/runtime/send-message.ts', find: 'if (isNew && standing) throw new BegunMeanwhile()', replace: '' },
    ],
    killedBy: [story('never adds a message to a conversation that another user opened since it was asked')],
  },
  {
    name: 'a message to a hidden conversation is refused as to a missing one, and so writes one',
    edits: [
      {
        file: handles,
        find: 'if (agent !== null) throw new ConversationExistsError(id)',
        replace: '',
      },
    ],
    killedBy: [story('lets each of two users work on what they opened, and hides what the other did')],
  },
  {
    name: 'a hidden conversation is deleted where nothing is, which leaves a trace',
    edits: [
      {
        file: handles,
        find: '(handle === open ? handle.delete() : false)',
        replace: 'handle.delete()',
      },
    ],
    killedBy: [unit('deleting what is hidden leaves no trace')],
  },
  {
    name: 'forks of others are listed',
    edits: [
      {
        file: handles,
        find: "(handle === open ? forks(id, page) : handle.forks(page))),\n    lineage: (options) => ask('read', async (handle) => visible(gate, await handle.lineage(options))),\n    continue: () =>",
        replace:
          "handle.forks(page)),\n    lineage: (options) => ask('read', async (handle) => visible(gate, await handle.lineage(options))),\n    continue: () =>",
      },
    ],
    killedBy: [story('makes a fork belong to the user who forked it, and shows a lineage up to what is hidden')],
  },
  {
    name: 'a lineage goes on past what is hidden',
    edits: [{ file: handles, find: "if (!(await gate.allows('read', ancestor.id))) break", replace: '' }],
    killedBy: [story('makes a fork belong to the user who forked it, and shows a lineage up to what is hidden')],
  },
  {
    name: 'the filter of authorize gives way to that of the caller',
    edits: [
      {
        file: verbs,
        find: 'read(open, { ...filter, owner: listing.owner })',
        replace: 'read(open, { owner: listing.owner, ...filter })',
      },
      {
        file: verbs,
        find: "listing !== 'none' && filter.owner !== undefined && filter.owner !== listing.owner",
        replace: 'false',
      },
    ],
    killedBy: [story('with a filter, lists and the inbox read only what the owner has, page by page')],
  },
  {
    name: 'a cursor is good for every list',
    edits: [
      {
        file: verbs,
        find: 'use: JSON.stringify([name, tenant, who])',
        replace: "use: JSON.stringify([tenant, who, ''])",
      },
    ],
    killedBy: [story('with a predicate, a page looks at ten times its limit, and its cursor tells nothing')],
  },
  {
    name: 'a copy tries the id that a hidden child agent has or will have',
    edits: [
      {
        file: handles,
        find: 'if (isAllowed && newId !== undefined && (await hidesTarget(gate, newId)))',
        replace: 'if (isAllowed && newId !== undefined && !gate)',
      },
    ],
    killedBy: [story('judges a child agent as the conversation that callers talk to')],
  },
  {
    name: 'a stream of text goes on after the permission was taken away',
    edits: [{ file: handles, find: 'yield* untilLost(gate, id, turn.textStream)', replace: 'yield* turn.textStream' }],
    killedBy: [unit('a stream of text ends when the conversation may not be read any more')],
  },
  {
    name: 'a verdict that could not be had is remembered for 30 seconds',
    edits: [{ file: verbs, find: 'if (answer === asked) answer = null', replace: 'void answer' }],
    killedBy: [
      {
        file: 'src/runtime/authorize/allowed-changes.test.ts',
        test: 'a verdict that could not be had is asked for again with the next change',
      },
    ],
  },
  {
    name: 'a cursor is good for every tenant',
    edits: [
      {
        file: verbs,
        find: 'use: JSON.stringify([name, tenant, who])',
        replace: "use: JSON.stringify([name, who, ''])",
      },
    ],
    killedBy: [story('with a predicate, a page looks at ten times its limit, and its cursor tells nothing')],
  },
  {
    name: 'totals under a filter are those of any owner asked for',
    edits: [
      {
        file: verbs,
        find: "return listing === 'none' || isOfAnother ? absent",
        replace: "return listing === 'none' && !isOfAnother ? absent",
      },
    ],
    killedBy: [story('with a filter, lists and the inbox read only what the owner has, page by page')],
  },
  {
    name: 'a cursor has the length of the id in it',
    edits: [{ file: page, find: ', Buffer.alloc(255 - text.byteLength)]', replace: ']' }],
    killedBy: [story('with a predicate, a page looks at ten times its limit, and its cursor tells nothing')],
  },
  {
    name: 'a page judges until it is full',
    edits: [
      { file: page, find: 'let left = limit * lookedAtPerItem', replace: 'let left = limit * lookedAtPerItem * 1e6' },
    ],
    killedBy: [story('with a predicate, a page looks at ten times its limit, and its cursor tells nothing')],
  },
  {
    name: 'a place that is gone is named',
    edits: [
      {
        file: page,
        find: "throw new InvalidArgumentError('before', 'stands for a place that is gone; begin with the first page')",
        replace: 'throw error',
      },
    ],
    killedBy: [story('with a predicate, a page looks at ten times its limit, and its cursor tells nothing')],
  },
  {
    name: 'every call is told, also that of another conversation',
    edits: [
      {
        file: gate,
        find: 'if (!row || (await this.#rootOf(row.conversationId))?.id !== root?.id) return null',
        replace: 'if (!row) return null',
      },
    ],
    killedBy: [unit('authorize gets the record of the conversation, and the call that is answered')],
  },
]
