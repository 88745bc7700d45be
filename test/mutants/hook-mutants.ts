import type { Case, Mutant } from './mutant.ts'

const halts = (test: string): Case => ({ file: 'test/stories/tools-halt.test.ts', test })
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

const shapes = (test: string): Case => ({ file: 'test/stories/hooks-shape.test.ts', test })
const bounds = (test: string): Case => ({ file: 'test/stories/hooks-bounds.test.ts', test })
const chosen = (test: string): Case => ({ file: 'test/stories/models-chosen.test.ts', test })

const readonly =
  'keeps the model from tools: a call of another one is an error result, and the next step has them all again'
const allInjections = bounds('has to fit the reserve together, with what durable hooks added at earlier steps')

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
    beside,
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
    'return [...events, end]',
    'return [end, ...events]',
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
    'return isAddressed ? actorOfTurn(turn, forker) : system',
    'return actorOfTurn(turn, forker)',
    bySystem,
  ],
  [
    'a turn acts as the system for ever after a deadline',
    'src/engine/scopes.ts',
    'return isAddressed ? actorOfTurn(turn, forker) : system',
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
    'isGranted ? actorOfTurn(turn, forker) : actorOfStep(turn, forker, call?.seq)',
    'isGranted ? actorOfTurn(turn, forker) : actorOfStep(turn, forker)',
    scoped('a call that was made before a deadline passed acts for the user who opened the turn'),
  ],
  [
    'a call of a tool that a hook left out runs',
    'src/engine/turn/prepare-call.ts',
    'if (offered && !offered.includes(raw.name))',
    'if (offered && offered.length < 0)',
    shapes(readonly),
  ],
  [
    'the model is offered the tools that a hook left out',
    'src/engine/turn/model-task.ts',
    'modelTools(call.agent.tools, model.provider)',
    'modelTools(agent.tools, model.provider)',
    shapes(readonly),
  ],
  [
    'a later hook brings a tool back that another left out',
    'src/define/shape.ts',
    '.filter((name) => before?.includes(name) ?? true)',
    '.filter((name) => before !== null && name !== null)',
    shapes('is seen by the hooks after it, and tools and settings of several hooks come together'),
  ],
  [
    'shaped messages are not checked',
    'src/prompt/shaped-prompt.ts',
    'if (problem === undefined) continue',
    'if (problem !== null) continue',
    shapes('is refused with an answer as the last message, and the conversation goes on'),
  ],
  [
    'shaped messages may be longer than the context window',
    'src/prompt/shaped-prompt.ts',
    'if (tokens <= ceiling) return',
    'if (tokens <= ceiling || ceiling > 0) return',
    shapes('fails the turn where its messages do not fit the context window'),
  ],
  [
    'what a durable hook injected is not in a shaped prompt',
    'src/engine/turn/model-task.ts',
    'messages !== null || !durable.has(hook)',
    '!durable.has(hook)',
    shapes('may give messages of its own, and what hooks inject follows them, durable or not'),
  ],
  [
    'after a crash a hook is shown what was injected into this very call',
    'src/engine/turn/model-task.ts',
    'renderContext(withoutInjections(state, turnState, step.step),',
    'renderContext(state,',
    shapes('sees the same context, and gives the same prompt, when it runs again after a crash'),
  ],
  [
    'what a hook changes of the turn is ignored',
    'src/engine/turn/run-hooks.ts',
    'if (member === null) return\n',
    'if (member === null || hook !== null) return\n',
    shapes('and one that changes scope of the turn in any other way is refused by name'),
  ],
  [
    'a parallel hook that returns a turn or a halt is skipped',
    'src/engine/turn/run-hooks.ts',
    'parts: ran && read(hook, () => partsOf(hook, ran.returned)),',
    'parts: ran && !isTurn(ran.returned) && !isHalt(ran.returned) ? partsOf(hook, ran.returned) : null,',
    {
      file: 'test/stories/hooks-before.test.ts',
      test: 'that are parallel and return a turn, a halt or nonsense fail the turn: nothing they say goes unheard',
    },
  ],
  [
    'a hook may replace the context without shaping',
    'src/define/turn.ts',
    "? null : 'context'",
    '? null : null',
    shapes('and one that changes context of the turn in any other way is refused by name'),
  ],
  [
    'a hook may change the context in place',
    'src/define/turn.ts',
    '      deepFreeze(made)\n',
    '',
    shapes('and one that changes what it was shown in place is refused too'),
  ],
  [
    'a durable hook may shape',
    'src/engine/turn/run-hooks.ts',
    'if (shape && hook.durable)',
    'if (shape && hook.durable && hook.once !== null)',
    shapes('cannot be durable, because the log has only what it injects'),
  ],
  [
    'the audit does not say which hook shaped a call',
    'src/engine/turn/audit.ts',
    'shaped.length > 0 ?',
    'shaped.length > 9 ?',
    shapes('is in the audit with its hook, and explain says that the hook decided'),
  ],
  [
    'the injections of earlier steps do not count',
    'src/engine/turn/run-hooks.ts',
    'let tokens = options.earlier.tokens',
    'let tokens = 0',
    allInjections,
  ],
  [
    'a hook that runs once a turn runs at every step',
    'src/engine/turn/run-hooks.ts',
    "hook.once === 'turn' && options.earlier.hooks.has(hook.name)",
    "hook.once === 'turn' && options.earlier.hooks.size < 0",
    bounds('runs before the first model call, and what it added stays in its place for the later ones'),
  ],
  [
    'the time of a hook is always that of the agent',
    'src/engine/turn/run-hooks.ts',
    'hook.timeoutMs ?? hookTimeoutMs',
    'hookTimeoutMs',
    bounds('is its own where it has one, before and after the model call'),
  ],
  [
    'a chunk that is a promise is dropped',
    'src/model/stream-attempt.ts',
    'if (isPromise(result)) {',
    'if (isPromise(result) && result === null) {',
    {
      file: 'test/stories/hooks-transform-chunk.test.ts',
      test: 'has to be synchronous: a promise fails the turn, which says so',
    },
  ],
  [
    'the budget is not that of the model that was chosen',
    'src/engine/turn/next-prompt.ts',
    'assemblePrompt({ state, agent, system, model: modelRef(model), injections',
    "assemblePrompt({ state, agent, system, model: { ...modelRef(model), modelId: 'other' }, injections",
    chosen('has the budget of the model it chose'),
  ],
  [
    'whatever the function returns is taken for a model',
    'src/engine/turn/choose-model.ts',
    'isLanguageModel(chosen) ? chosen : null',
    'chosen as LanguageModel',
    chosen('fails the turn by name where it returns the name of a model, and the next turn is asked anew'),
  ],
]

/** Bugs in what hooks and tools may do with a turn. */
export const hookMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `hooks: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
