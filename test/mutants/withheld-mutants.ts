import type { Case, Mutant } from './mutant.ts'

const kept = (test: string): Case => ({ file: 'test/stories/hooks-withheld.test.ts', test })
const read = (test: string): Case => ({ file: 'test/stories/hooks-withheld-readers.test.ts', test })
const served = (test: string): Case => ({ file: 'test/server/withheld.test.ts', test })

const failed = kept('because its hook failed (thrower) is kept with its usage, and the turn fails')
const halted = kept('because a hook halted is withheld, unless the hook says that it may be shown')
const repeated = kept('because it was written anew too often is withheld each time')
const cancelled = kept('because the turn was cancelled while it was written is withheld')
const cutOff = kept('because its stream was cut off, or ended with an error, is withheld')
const unfit = kept('because its object does not fit was not shown to a hook, and is withheld')
const watched = read('is withdrawn from those who watch, and reaches them in no event, wherever they begin')
const remembered = read('is in no summary, no title and no page of history, however long ago it was')
const routes = served('an answer that a hook halted is in no answer of the server to anybody but operators')
const quoted = served(
  'an answer that a hook quoted in what it threw is in no answer of the server to anybody but operators',
)
const pages = served('pages of events begin and end anywhere, and none tells what was withheld')

const planted: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'what a hook did not pass stays in the state, and so in prompts',
    'src/log/fold-events.ts',
    'return { ...item, parts: [], withheld: { hook } }',
    'return { ...item, withheld: { hook } }',
    read('is in no later prompt, of the same turn or of the next'),
  ],
  [
    'what a hook did not pass is the text of the outcome',
    'src/log/fold-events.ts',
    'return { ...item, parts: [], withheld: { hook } }',
    'return { ...item, withheld: { hook } }',
    halted,
  ],
  [
    'a mark is forgotten when only part of its commit has been folded',
    'src/log/fold-events.ts',
    'this.#withheld = base.withheld',
    'this.#withheld = undefined',
    {
      file: 'src/log/fold-events.test.ts',
      test: 'is known to be as soon as its mark is there, so that no part of a log shows it',
    },
  ],
  [
    'a mark stands after its message',
    'src/log/settle.ts',
    "    { type: 'withheld', content: { messageId, hook } },\n    { type: 'assistant_msg', content: withoutObject },\n",
    "    { type: 'assistant_msg', content: withoutObject },\n    { type: 'withheld', content: { messageId, hook } },\n",
    read('is as withheld in a fork as it was, wherever the fork begins'),
  ],
  [
    'what is withheld keeps its object',
    'src/log/settle.ts',
    "{ type: 'assistant_msg', content: withoutObject }",
    "{ type: 'assistant_msg', content }",
    kept('has no object, in the log either'),
  ],
  [
    'a turn is completed by what was withheld',
    'src/log/next-step.ts',
    'last && !last.withheld && ',
    'last && ',
    read('is as withheld in a fork as it was, wherever the fork begins'),
  ],
  [
    'a hook that fails takes the answer with it',
    'src/engine/turn/finish-message.ts',
    'if (signal.aborted) return cutOff\n',
    'if (signal.aborted) return cutOff\n    if (error) throw error\n',
    failed,
  ],
  [
    'the answer of a hook that fails is shown',
    'src/engine/turn/finish-message.ts',
    'verdict, ...failed }',
    'verdict, withheld: undefined as never }',
    kept('because its hook failed (sleeper) is kept with its usage, and the turn fails'),
  ],
  [
    'the first hook is named, whichever failed',
    'src/engine/turn/finish-message.ts',
    'error instanceof HookError ? withheldBy(error.hook) : {}',
    '{}',
    failed,
  ],
  [
    'a broken stream shows what no hook was asked about',
    'src/engine/turn/finish-message.ts',
    "if (message.status !== 'complete') return cutOff",
    "if (message.status === 'failed') return { ...cutOff, withheld: undefined as never }\n  if (message.status !== 'complete') return cutOff",
    cutOff,
  ],
  [
    'a cancel shows what was streamed before a hook was asked',
    'src/engine/turn/finish-message.ts',
    "if (message.status !== 'complete') return cutOff",
    "if (message.status === 'aborted') return { ...cutOff, withheld: undefined as never }\n  if (message.status !== 'complete') return cutOff",
    cancelled,
  ],
  [
    'a cancel shows what a hook was about to judge',
    'src/engine/turn/finish-message.ts',
    'if (signal.aborted) return cutOff\n',
    'if (signal.aborted) return { ...cutOff, withheld: undefined as never }\n',
    kept('because the turn was cancelled while a hook judged it is withheld with its usage'),
  ],
  [
    'a cancel that meets a verdict shows what was judged',
    'src/log/settle.ts',
    'if (turn.cancel) return terminate(turn, outcome)',
    'if (turn.cancel) return terminate(turn, { ...outcome, withheld: undefined as never })',
    kept('stays withheld when a cancel comes before its commit; one that all hooks have passed is shown'),
  ],
  [
    'a halt shows the message by default',
    'src/engine/turn/run-hooks.ts',
    'isShown: show === true',
    'isShown: true',
    halted,
  ],
  [
    'a halt never shows the message',
    'src/engine/turn/run-hooks.ts',
    'isShown: show === true',
    'isShown: false',
    halted,
  ],
  [
    'what was written anew once too often is shown',
    'src/engine/turn/finish-message.ts',
    "reason: 'max_regenerations' }, ...withheld }",
    "reason: 'max_regenerations' } }",
    repeated,
  ],
  [
    'what is written anew is shown',
    'src/engine/turn/finish-message.ts',
    'feedback: result.feedback }, ...withheld }',
    'feedback: result.feedback } }',
    repeated,
  ],
  [
    'an object that does not fit is shown around the hooks',
    'src/engine/turn/finish-message.ts',
    'return { ...outcome, verdict, ...withheldBy(firstPostHook(context)) }',
    'return { ...outcome, verdict }',
    unfit,
  ],
  [
    'a parent is told what a hook threw about a message',
    'src/engine/child/child-calls.ts',
    "keptMessages(turn).at(-1)?.withheld ? (reason?.split(':', 1)[0] ?? null) : reason",
    'keptMessages(turn).length > 0 ? reason : reason',
    read('of a child agent is not the result of its call, nor is what its hook threw about it'),
  ],
  [
    'those who watch get the event as it is in the log',
    'src/engine/live/channel.ts',
    'told.push(...withdrawn, shown, ...live)',
    'told.push(...withdrawn, event, ...live)',
    watched,
  ],
  [
    'those who go on watching get the events they missed as they are in the log',
    'src/runtime/read/watch.ts',
    'for await (const { events } of shownPages(store, id, missed))',
    'for await (const { events } of missed)',
    watched,
  ],
  [
    'what was streamed and then withheld is not withdrawn',
    'src/view/live-events.ts',
    "isWithheld ? 'message_discarded' : 'message_completed'",
    "'message_completed'",
    watched,
  ],
  [
    'an agent that reveals what is judged streams it all the same',
    'src/engine/turn/model-task.ts',
    "agent.reveal === 'judged' && ",
    "agent.reveal !== 'judged' && ",
    read('was seen while it was written, unless the agent reveals only what is judged'),
  ],
  [
    'a page of history does not know the marks',
    'src/runtime/read/turn-events.ts',
    "if (event.type === 'withheld') return true",
    '',
    remembered,
  ],
  [
    'a page of events that begins with a message does not know its mark',
    'src/view/hidden.ts',
    "if (before?.type === 'withheld') withheld.add(before.content.messageId)",
    '',
    pages,
  ],
  [
    'nothing is read before a page of events',
    'src/runtime/read/turn-events.ts',
    "if (first?.type !== 'assistant_msg' || first.seq === 1) return null",
    'if (first) return null',
    pages,
  ],
  ['a page of events is the log as it is', 'src/server/dispatch.ts', 'withheld: false', 'withheld: true', routes],
  [
    'pages are told what a hook threw about a message',
    'src/server/dispatch.ts',
    'errors: settings.showErrors',
    'errors: true',
    quoted,
  ],
  [
    'files of a message that is withheld are served',
    'src/runtime/read/inspect.ts',
    'of shownPages(store, id, logPages(store, id))',
    'of logPages(store, id)',
    routes,
  ],
  [
    'a chat keeps the reasoning of a draft that is withheld',
    'src/server/ui/ui-turn-of.ts',
    '`${messageId}:withheld`',
    'messageId',
    {
      file: 'src/server/ui/steps-between.test.ts',
      test: 'all that was shown of a message that is withheld is withdrawn, also where it was only reasoning or a call',
    },
  ],
]

/** Bugs around messages that no hook has passed: each lets a reader see one, or loses it. */
export const withheldMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `withheld: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
