import type { Case, Mutant } from './mutant.ts'

const story = (test: string): Case => ({ file: 'test/stories/state.test.ts', test })
const application = (test: string): Case => ({ file: 'test/stories/state-application.test.ts', test })
const folding = (test: string): Case => ({ file: 'src/log/fold-events.test.ts', test })
const settling = (test: string): Case => ({ file: 'src/log/settle.test.ts', test })
const disclosing = (test: string): Case => ({ file: 'src/view/disclose.test.ts', test })
const extending = (test: string): Case => ({ file: 'src/define/define-extension.test.ts', test })

const together = story(
  'is set by a tool in the same commit as its result, and then read by tools, the application and views',
)
const atOnce = story('keeps what two tools add at once, though both began with the same state')
const exposedOnly = disclosing(
  'has only its exposed keys in everything that leaves the server, and all of them for operators',
)

const planted: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'what a tool sets comes after its result',
    'src/log/settle.ts',
    'const events: NewEvent[] = set && result.ok ? [stateEvent(callId, set, found.turn)] : []',
    "if (set && result.ok) return [{ type: 'tool_result', content: { callId, ...result } }, stateEvent(callId, set, found.turn)]\n  const events: NewEvent[] = []",
    settling('comes right after what the tool set'),
  ],
  [
    'a tool that fails sets state',
    'src/log/settle.ts',
    'set && result.ok ? [stateEvent',
    'set ? [stateEvent',
    settling('that is an error sets nothing'),
  ],
  [
    'what a tool sets takes effect before its result',
    'src/log/fold-events.ts',
    'return isOfCall(event) ? this.#callEvent(event) : this.#setState(event, event.content)',
    'return this.#setState(event, event.content)',
    folding('of a call changes with its result, and not before'),
  ],
  [
    'what a tool sets takes effect with a result that failed',
    'src/log/fold-events.ts',
    "event.type === 'tool_result' && event.content.ok) this.#setState",
    "event.type === 'tool_result') this.#setState",
    folding('of a call that ends badly does not change'),
  ],
  [
    'a later attempt takes over what an earlier one set',
    'src/log/fold-call.ts',
    'const call = given.stateSet ? withoutStateSet(given) : given',
    "const call = given.stateSet && event.type === 'tool_result' ? withoutStateSet(given) : given",
    folding('of a call is not set by a later attempt, where the log was cut before the result'),
  ],
  [
    'a state may be of any size',
    'src/log/app-state.ts',
    '  if (bytes > maxStateBytes) return null\n',
    '',
    folding('may have 64 KiB, counted over all changes'),
  ],
  [
    'a base forgets the state',
    'src/log/state.ts',
    'notes: ___, notesLeftOut: ____, ...base } = state',
    'notes: ___, notesLeftOut: ____, appState: _____, ...base } = state',
    folding('a base keeps title, seed and unfinished turns only'),
  ],
  [
    'two tools at once lose what the first added',
    'src/engine/turn/settle-state.ts',
    'await this.#withState(after, outcome, state.lastSeq)',
    'await this.#withState(state, outcome, state.lastSeq)',
    atOnce,
  ],
  [
    'functions see the state that the tool began with',
    'src/engine/turn/drive.ts',
    'const settled = owner.setsState ? await owner.withState(outcomes) : outcomes',
    'const settled = outcomes',
    together,
  ],
  [
    'a change that does not match the schema is recorded',
    'src/define/agent-state.ts',
    '  if (!checked.ok) throw new StateRefusedError(checked.issues)\n',
    '  if (!checked.ok) return { patch: patchBetween(values ?? {}, next as JsonObject), state: next as JsonObject }\n',
    application('is refused to the application with a reason, and nothing is written'),
  ],
  [
    'a change of the application is made on an old state',
    'src/runtime/conversation-state.ts',
    '      expectedSeq: folded.lastSeq,\n',
    '',
    application('keeps every one of many changes that come at once from the application'),
  ],
  [
    'a state that no longer matches is not converted',
    'src/define/agent-state.ts',
    'if (!definition.migrate) throw fail(issues)',
    'throw fail(issues)',
    application('that no longer matches after a deploy goes through migrateState, else the turn fails'),
  ],
  [
    'the state is not in snapshots',
    'src/snapshot/take-snapshot.ts',
    '    ...(state.appState ? { data: state.appState.values } : {}),\n',
    '',
    application('is in snapshots, and is restored from one'),
  ],
  [
    'a tool sets state after it has ended',
    'src/engine/turn/tool-task.ts',
    "      if (isOver) throw new StateRefusedError('the tool has ended; call setState before it returns')\n",
    '',
    story('cannot be set after the tool has ended, nor for an agent without state'),
  ],
  [
    'a refused change is not told to the model',
    'src/prompt/render/render-assistant.ts',
    '${note}${refusalNote(call.stateRefused)}',
    '${note}',
    {
      file: 'src/prompt/render/render-context.test.ts',
      test: 'whose state was refused tells why, next to the result',
    },
  ],
  [
    'a view shows all of the state',
    'src/view/view-of.ts',
    'pickKeys(log.appState.values, log.appState.exposed)',
    'log.appState.values',
    disclosing('shows in a view only as far as it is exposed, also in this process'),
  ],
  [
    'pages get all of a change of state',
    'src/view/disclose.ts',
    'const content = disclosure.withheld ? event.content : exposedOf(event.content)',
    'const content = event.content',
    exposedOnly,
  ],
  [
    'pages get the state of a snapshot',
    'src/view/disclose.ts',
    'const snapshot = disclosure.withheld ? given : withoutData(given)',
    'const snapshot = given',
    disclosing('of a snapshot is only for operators'),
  ],
  [
    'anyone may write what a call sets',
    'src/log/event-roles.ts',
    "if (type === 'state_set') return 'callId' in content && content.callId !== undefined",
    "if (type === 'state_set') return false",
    { file: 'src/store/memory/memory-store.test.ts', test: 'state_set needs the epoch while a lease is live' },
  ],
  [
    'two extensions may have a tool of one name',
    'src/define/state-problems.ts',
    'if (other !== undefined && other !== owner)',
    'if (other === owner)',
    extending('is refused with a tool that two of them have'),
  ],
  [
    'the state of an extension may collide with a key of the agent',
    'src/define/state-problems.ts',
    'if (isTaken) problems.push',
    'if (!isTaken && isTaken) problems.push',
    extending('is refused with a key of its own state with the name of theirs'),
  ],
  [
    'the tools of an extension see all of the state',
    'src/define/define-extension.ts',
    'return turnOf({ ...turn, state: partOf(turn.state), setState })',
    'return turnOf({ ...turn, setState })',
    extending('sees and sets its own part of the state in tools and hooks'),
  ],
  [
    'changes that come at once compete, and the slowest are refused',
    'src/runtime/conversation-state.ts',
    'const before = this.#last.get(key)',
    'const before = undefined as Promise<unknown> | undefined',
    application('is computed once for each of very many changes that come at once from one process'),
  ],
  [
    'a change waits for ever for one before it that never ends',
    'src/runtime/conversation-state.ts',
    'withTimeout(before, patienceMs, this.#clock, () => null).then(change)',
    'before.then(change)',
    application('does not wait for ever for a change before it that never ends'),
  ],
  [
    'a function that changes the state in place changes it for every reader',
    'src/define/agent-state.ts',
    '  deepFreeze(state)\n',
    '',
    application('is what the log says, whatever is done with the objects that were read'),
  ],
  [
    'the application reads the state that all share',
    'src/runtime/conversation-state.ts',
    'return structuredClone(read)',
    'return read',
    application('is what the log says, whatever is done with the objects that were read'),
  ],
  [
    'an answer to a question is not checked by its own schema',
    'src/define/validate.ts',
    'output && !isRecorded) return accepted',
    'output) return accepted',
    {
      file: 'test/stories/extensions.test.ts',
      test: 'is answered with one choice, and with nothing that does not fit',
    },
  ],
]

/** Bugs in the state of conversations and in extensions. */
export const stateMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `state: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
