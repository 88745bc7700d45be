import type { Case, Mutant } from './mutant.ts'

const scopes = (test: string): Case => ({ file: 'src/engine/scopes.test.ts', test })
const identity = (test: string): Case => ({ file: 'src/engine/identity.test.ts', test })
const restored = (test: string): Case => ({ file: 'test/stories/scopes-restored.test.ts', test })
const forked = (test: string): Case => ({ file: 'test/stories/scopes-forked.test.ts', test })
const missing = (test: string): Case => ({ file: 'test/stories/scopes-missing.test.ts', test })
const steering = (test: string): Case => ({ file: 'test/stories/turns-steering.test.ts', test })
const options = (test: string): Case => ({ file: 'src/runtime/runtime-options.test.ts', test })

const described = (test: string): Case => ({ file: 'src/engine/turn/prepare-call.test.ts', test })

const waits = missing('waits where everyone sees it, starts nothing, and goes on when it can')

const planted: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'an approval lends its identity',
    'src/engine/scopes.ts',
    'return isGranted ? actorOfTurn(turn, forker) :',
    'return isGranted ? (call?.rounds.at(-1)?.resolution?.who ?? system) :',
    restored('in one process, and is told who approved'),
  ],
  [
    'what a fork has copied acts for the person whose turn it was',
    'src/engine/scopes.ts',
    'return forker !== null && firstSeq <= forker.at',
    'return forker !== null && firstSeq < 0',
    forked('acts for the user who forked it, and never for the one whose turn it was'),
  ],
  [
    'a deadline that passed before the fork makes the system act in it',
    'src/engine/scopes.ts',
    'let acted = forker?.at ?? 0',
    'let acted = 0',
    forked('never acts as the system where a deadline had passed before'),
  ],
  [
    'a copied turn is steered by the person whose turn it was',
    'src/runtime/send-message.ts',
    'isCopied(open, forker)) return actorOfTurn(open, forker)',
    'isCopied(open, forker)) return openerOfTurn(open)',
    forked('is steered by that user, and by no other'),
  ],
  [
    'a copied session sends in the name of the person who started it',
    'src/runtime/ask-agent.ts',
    '?.who ?? starter',
    '?.at === 0 ? "" : starter',
    forked('is a session that sends in the name of the user who forked it'),
  ],
  [
    'what the application forks acts as the system',
    'src/engine/scopes.ts',
    'fork === null || who === system ? null',
    'fork === null ? null',
    forked('acts for the person whose turn it was where the application forked it'),
  ],
  [
    'a scope that cannot be restored is the system',
    'src/engine/scopes.ts',
    'throw new ScopeMissingError(id, who, { cause: error })',
    'return error === null ? (null as never) : (systemScope(tenant) as Scope)',
    scopes('a scope is missing where restoreScope throws'),
  ],
  [
    'a restored scope may be of any tenant',
    'src/engine/scopes.ts',
    'if (found !== tenant) throw',
    'if (found === "") throw',
    scopes('a scope is missing where restoreScope gives a scope of another tenant'),
  ],
  [
    'a turn without its first message acts as the system',
    'src/engine/scopes.ts',
    "?? 'anonymous'\n}",
    "?? 'system'\n}",
    scopes('a turn without its first message has no user'),
  ],
  [
    'a user may be called system',
    'src/engine/scopes.ts',
    'if (isReservedUser(user)) throw',
    'if (isReservedUser(user) && who) throw',
    restored('and no user can be called system or anonymous'),
  ],
  [
    'a claim that reads system is the system where it names no user',
    'src/engine/scopes.ts',
    "if (user === undefined && isSystem) throw new InvalidArgumentError('scope', onlySystemScope)",
    'if (user === undefined && isSystem && onlySystemScope) return system',
    restored('and never as the system for a scope that only reads like it'),
  ],
  [
    'a claim that reads system is the system where the application names users',
    'src/engine/scopes.ts',
    'if (isSystemScope(scope)) return system',
    'if ((scope as Partial<BuiltinScope>).system) return system',
    identity('asks who a scope is that only reads like the system'),
  ],
  [
    'a scope with assigns is sent although nothing rebuilds them',
    'src/define/scope.ts',
    'return isPlain && typeof assigns',
    'return isPlain || typeof assigns',
    restored('so a scope with assigns is refused where nothing can rebuild them'),
  ],
  [
    'a tenant function needs no restoreScope',
    'src/runtime/runtime-options.ts',
    'if ((tenant || who) && restoreScope === undefined)',
    'if (who && restoreScope === undefined)',
    options("demands 'restoreScope' with functions that name tenant or user"),
  ],
  [
    'another person steers a turn',
    'src/runtime/send-message.ts',
    'open.cancel || (await actorOfOpen(open, store, id)) !== identity.who',
    'open.cancel',
    steering('queues: a turn acts for one person alone'),
  ],
  [
    'a call is started before its scope is known',
    'src/engine/turn/missing-scope.ts',
    "event.type === 'tool_started' ? findCall",
    "event.type === 'tool_result' ? findCall",
    waits,
  ],
  [
    'every try to restore a scope is an event',
    'src/engine/turn/missing-scope.ts',
    'events: since ? [] : [waitingEvent(missing, redact)]',
    'events: [waitingEvent(missing, redact)]',
    waits,
  ],
  [
    'a list does not tell that a scope is missing',
    'src/log/fsm-state.ts',
    'return missing ? { ...standing, scopeMissing: missing.who } : standing',
    'return standing',
    waits,
  ],
  [
    'a view tells of a missing scope for ever',
    'src/log/fold-events.ts',
    'if (owned.scopeMissing) delete owned.scopeMissing',
    'if (owned.scopeMissing) void owned.scopeMissing',
    missing('is not asked about by the model either'),
  ],
  [
    'why a scope is missing is told with its secrets',
    'src/engine/turn/missing-scope.ts',
    'redact(thrownText(cause))',
    'thrownText(cause)',
    waits,
  ],
  [
    'the process that cannot restore a scope keeps it from the others',
    'src/engine/lease/worker.ts',
    'if (forMs > 0) this.#skipped.add',
    'if (forMs < 0) this.#skipped.add',
    missing('is taken up by a process that can restore it'),
  ],
  [
    'what a tool says of a call is kept with its secrets',
    'src/engine/turn/prepare-call.ts',
    'redact(told.slice(0, 8 * maxDescription))',
    'told.slice(0, 8 * maxDescription)',
    described('what a tool says of a call is kept without secrets, and at most 500 characters of it'),
  ],
  [
    'what a tool says of a call may be of any length',
    'src/engine/turn/prepare-call.ts',
    'line.slice(0, maxDescription)',
    'line.slice(0)',
    described('what a tool says of a call is kept without secrets, and at most 500 characters of it'),
  ],
  [
    'what a tool says of a call replaces its prompt',
    'src/engine/turn/prepare-call.ts',
    'if (description !== null && !tool.hasPrompt)',
    'if (description !== null)',
    described('what a tool says of a call is its prompt, unless it has one'),
  ],
  [
    'the view of a call does not say what it will do',
    'src/view/view-of.ts',
    'return description === undefined ? describedBy(prompt) : { description }',
    'return description !== null ? describedBy(prompt) : { description }',
    {
      file: 'test/stories/tools-described.test.ts',
      test: 'stands beside a prompt of the tool that is an object, also for those who are told elsewhere',
    },
  ],
]

/** On whose behalf tools act, and what people are told of it. */
export const behalfMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `behalf: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
