import type { Case, Mutant } from './mutant.ts'

const run = (test: string): Case => ({ file: 'test/server/ag-ui.test.ts', test })
const interrupt = (test: string): Case => ({ file: 'test/server/ag-ui-interrupts.test.ts', test })

const history = run('of the history of a client only the newest message counts, and it counts once')
const partial = interrupt(
  'a run that answers some of the interrupts is refused, says which are missing, and answers nothing',
)
const approval = interrupt('an approval interrupts the run, and is answered by the run that resumes')

const planted: readonly (readonly [string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'the history of the client is sent',
    'src/server/routes/ag-ui.ts',
    'inputOf(last))',
    'input.messages.flatMap((message) => inputOf(message)))',
    history,
  ],
  ['a message has no key', 'src/server/routes/ag-ui.ts', 'key: last.id, ', '', history],
  [
    'a partial resume answers what it can',
    'src/server/ag-ui/interrupts.ts',
    'if (missing.length > 0) throw',
    'if (missing.length < 0) throw',
    partial,
  ],
  [
    'a repeated run is late with its own answers',
    'src/server/ag-ui/interrupts.ts',
    '`${runId}/${entry.interruptId}`)',
    '`${runId}/${entry.interruptId}/${Math.random()}`)',
    partial,
  ],
  [
    'anything approves',
    'src/server/ag-ui/interrupts.ts',
    "if (typeof approved !== 'boolean') {",
    "if (typeof approved === 'number') {",
    approval,
  ],
  [
    'a tool message answers any call',
    'src/server/ag-ui/interrupts.ts',
    "kind === 'client_exec' && conversationId",
    'conversationId',
    interrupt('a tool message for a call that does not wait for the client is no result'),
  ],
  [
    'a client tool is handed out before its approval',
    'src/server/ag-ui/sent-turn.ts',
    "return !(isForPage && (stage.type === 'held' || stage.type === 'asked'))",
    'return isForPage || !isForPage',
    interrupt('a client tool that needs an approval is not handed to the client before it has that'),
  ],
  [
    'text that was withdrawn stays',
    'src/server/ag-ui/sent-turn.ts',
    'if (this.#isWithdrawn(turn)) return null',
    '',
    run('a stream of the model that broke off is taken back from the client'),
  ],
  [
    'half a message is taken for a whole one',
    'src/server/ag-ui/ag-ui-stream.ts',
    'claimed.length === 0 || !this.#sent.claim(claimed, turn)',
    'claimed.length === 0 && !this.#sent.claim(claimed, turn)',
    run('a client that lost its stream runs again, and shows what the log has'),
  ],
  [
    'edited arguments are not shown',
    'src/server/ag-ui/sent-turn.ts',
    'if (!isAbridged && !hasArguments(made, call.input)) return false',
    '',
    interrupt('an approval is given with other arguments, and the client is shown those'),
  ],
  [
    'a parent asks again what its child was told',
    'src/server/ag-ui/interrupts.ts',
    '!answered.has(roundId(callId, round))',
    'answered.size >= 0 || round > 0 || callId === ""',
    interrupt('the question of a child agent interrupts the run of its parent, and its answer goes to the child'),
  ],
]

/** Bugs of the route of AG-UI: each trusts the client too far, or shows it too much or too little. */
export const agUiMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `ag-ui: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
