import type { Case, Mutant } from './mutant.ts'

const halts = (test: string): Case => ({ file: 'test/stories/tools-halt.test.ts', test })
const stepped = (test: string): Case => ({ file: 'src/log/next-step.test.ts', test })
const tools = (test: string): Case => ({ file: 'test/stories/turns-in-tools.test.ts', test })
const scoped = (test: string): Case => ({ file: 'src/engine/scopes.test.ts', test })

const together = halts(
  'ends it as halted with its reason: halt and result are one commit, and no model is called again',
)
const beside = halts('lets the calls beside it finish first, and the first of two gives the reason')
const saw = tools('names agent, conversation, turn and step, and has the messages that the model saw')
const bySystem = scoped(
  'what a turn does because a deadline has passed acts with the system scope, which is not restored',
)
const againAnn = scoped('after a person has said or answered something, the turn acts for the user who opened it again')

const planted: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'a tool that halts does not end the turn',
    'src/log/next-step.ts',
    "  if (turn.halt) return end(turn, 'halted', turn.halt.reason)\n",
    '',
    together,
  ],
  [
    'a tool that halts ends the turn over the calls beside it',
    'src/log/next-step.ts',
    'return stepOfCalls(turn, running) ?? stepOfTurn(turn)',
    'return turn.halt ? stepOfTurn(turn) : (stepOfCalls(turn, running) ?? stepOfTurn(turn))',
    stepped('has the calls beside it started that are not yet'),
  ],
  [
    'the last of two halts gives the reason',
    'src/log/fold-events.ts',
    'if (!found.turn.end && !found.turn.halt)',
    'if (!found.turn.end)',
    beside,
  ],
  [
    'a halt stands after its result',
    'src/log/settle.ts',
    "[{ type: 'halted_by', content: { callId, reason: halt } }, end]",
    "[end, { type: 'halted_by', content: { callId, reason: halt } }]",
    together,
  ],
  [
    'data that looks like a halt ends the turn',
    'src/define/create-hook.ts',
    "return typeof value === 'object' && value !== null && haltBrand in value",
    'return isHalt(value)',
    halts('is known by what halt made: data of a tool, or the answer of a page, that looks like it is a result'),
  ],
  [
    'a halt is lost where the result cannot be recorded',
    'src/engine/turn/tool-task.ts',
    'return { ...normaliseResult(result), halt: reason }',
    'return normaliseResult(result).ok ? { ...normaliseResult(result), halt: reason } : normaliseResult(result)',
    halts('ends it also where its result cannot be recorded'),
  ],
  [
    'the reason of a tool that halts keeps its secrets',
    'src/engine/turn/pending-outcomes.ts',
    '{ halt: redact(halt) }',
    '{ halt }',
    { file: 'src/engine/turn/redact-outcome.test.ts', test: 'the reason of a tool that ends the turn is redacted' },
  ],
  [
    'a hook may give the result of a tool',
    'src/engine/turn/run-hooks.ts',
    "if (!('result' in verdict)) return verdict",
    'return verdict',
    {
      file: 'src/engine/turn/run-post-hooks.test.ts',
      test: 'a halt with a result is for tools: a hook that returns one fails',
    },
  ],
  [
    'a tool sees what came after the model made its call',
    'src/prompt/render/render-context.ts',
    'found.turn.items.filter(({ seq }) => seq <= seen)',
    'found.turn.items',
    saw,
  ],
  [
    'a turn that goes on after a deadline acts for the user who opened it',
    'src/engine/scopes.ts',
    'return isAddressed ? actorOfTurn(ref, turn) : system',
    'return actorOfTurn(ref, turn)',
    bySystem,
  ],
  [
    'a turn acts as the system for ever after a deadline',
    'src/engine/scopes.ts',
    'return isAddressed ? actorOfTurn(ref, turn) : system',
    'return system',
    againAnn,
  ],
  [
    'an answer after a deadline does not bring the user back',
    'src/engine/scopes.ts',
    "else if (kind !== 'sub_agent') acted",
    "else if (kind === 'sub_agent') acted",
    againAnn,
  ],
  [
    'a call that was made before a deadline passed acts as the system after it',
    'src/engine/scopes.ts',
    'return actorOfStep(ref, turn, call?.seq)',
    'return actorOfStep(ref, turn)',
    scoped('a call that was made before a deadline passed acts for the user who opened the turn'),
  ],
]

/** Bugs in what hooks and tools may do with a turn. */
export const hookMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `hooks: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
