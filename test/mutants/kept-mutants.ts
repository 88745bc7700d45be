import type { Case, Mutant } from './mutant.ts'

const prompts =
  'every prefix of every generated log is a prompt that OpenAI, Anthropic and Google take, and between reductions prompts only grow'
const legal: Case = { file: 'test/context/legal-prompts.test.ts', test: prompts }
const turns = (test: string): Case => ({ file: 'src/prompt/render/ended-turns.test.ts', test })
const listed: Case = {
  file: 'test/stories/working-sets-listed.test.ts',
  test: 'is what the log says, also after a commit whose outcome was unknown',
}
const running: Case = {
  file: 'test/stories/working-sets-trusted.test.ts',
  test: 'reads as running in lists as long as a turn runs',
}
const abort = (test: string): Case => ({ file: 'src/model/stream-model-abort.test.ts', test })
const corruption: Case = {
  file: 'test/upkeep/corruption.test.ts',
  test: 'has each corruption named, and is as before after the repair',
}

/** Bugs in what is kept from one prompt, commit or read to the next, so that it is not made again. */
export const keptMutants: readonly Mutant[] = [
  {
    name: 'kept: rendered turns are taken for those of another prompt that is as long',
    edits: [
      {
        file: 'src/prompt/render/render-turn.ts',
        find: 'first.length <= turns.length && first.every((turn, index) => turn === turns[index])',
        replace: 'first.length <= turns.length',
      },
    ],
    killedBy: [legal],
  },
  {
    name: 'kept: turns rendered for one model are shown to another',
    edits: [{ file: 'src/prompt/render/render-turn.ts', find: 'return isSameModel && ', replace: 'return ' }],
    killedBy: [legal],
  },
  {
    name: 'kept: turns stay as they are when their results become stubs',
    edits: [{ file: 'src/prompt/render/render-turn.ts', find: ' && kept.stubbed === stubbed', replace: '' }],
    killedBy: [legal],
  },
  {
    name: 'kept: the ids of rendered turns are used again after them',
    edits: [{ file: 'src/prompt/render/render-context.ts', find: 'new CallIds(used)', replace: 'new CallIds(null)' }],
    killedBy: [legal],
  },
  {
    name: 'kept: what could not be rendered stays half done',
    edits: [{ file: 'src/prompt/render/render-turn.ts', find: '    this.#kept = null\n', replace: '' }],
    killedBy: [turns('a turn that could not be rendered leaves no trace in the next prompt')],
  },
  {
    name: 'kept: arguments and results in a prompt are those of the log',
    edits: [{ file: 'src/prompt/render/call-ids.ts', find: 'return ownCopy(value)', replace: 'return value' }],
    killedBy: [turns('of the open turn reaches neither the next prompt nor the log')],
  },
  {
    name: 'kept: prompts share the messages of ended turns',
    edits: [
      { file: 'src/prompt/render/render-turn.ts', find: 'kept.messages.map(copyOf)', replace: '[...kept.messages]' },
    ],
    killedBy: [turns('of an ended turn reaches neither the next prompt nor the log')],
  },
  {
    name: 'kept: prompts share the arguments of ended turns',
    edits: [
      {
        file: 'src/prompt/render/render-turn.ts',
        find: "if (copy.type === 'tool-call') copy.input = ownCopy(copy.input as Json)\n  else if",
        replace: 'if',
      },
    ],
    killedBy: [turns('of an ended turn reaches neither the next prompt nor the log')],
  },
  {
    name: 'kept: files of ended turns are not shown again',
    edits: [{ file: 'src/prompt/render/render-turn.ts', find: '!turn.end || hasFiles(turn)', replace: '!turn.end' }],
    killedBy: [
      turns('a file of an ended turn is asked for and shown in every prompt, with the bytes that were read for it'),
    ],
  },
  {
    name: 'kept: the sum of turns is that of before they were stubbed',
    edits: [
      {
        file: 'src/prompt/budget/prompt-size.ts',
        find: 'last?.stubbed === stubbed && beginsWith',
        replace: 'last && beginsWith',
      },
    ],
    killedBy: [legal],
  },
  {
    name: 'kept: an owner does not write what lists show when it changes',
    edits: [
      {
        file: 'src/engine/turn/owner.ts',
        find: 'this.#cached !== null && saysTheSame(this.#cached, standingOf(after))',
        replace: 'this.#cached !== null',
      },
    ],
    killedBy: [listed],
  },
  {
    name: 'kept: an owner goes by what lists showed before a commit that may have been made',
    edits: [{ file: 'src/engine/turn/owner.ts', find: '    this.#cached = null\n', replace: '' }],
    killedBy: [listed],
  },
  {
    name: 'kept: a message does not write what its owner takes for written',
    edits: [
      { file: 'src/runtime/send-message.ts', find: '      ...(cached ? { fsmState: cached } : {}),\n', replace: '' },
    ],
    killedBy: [running],
  },
  {
    name: 'kept: calls that wait are not told apart in what lists show',
    edits: [
      {
        file: 'src/log/fsm-state.ts',
        find: 'return JSON.stringify(left.pending) === JSON.stringify(right.pending)',
        replace: 'return true',
      },
    ],
    killedBy: [listed],
  },
  {
    name: 'kept: the doctor takes any state of before for one that still holds',
    edits: [
      {
        file: 'src/upkeep/finish-examination.ts',
        find: '(fsmAtOwned && saysTheSame(cached, fsmAtOwned))',
        replace: 'fsmAtOwned !== null',
      },
    ],
    killedBy: [corruption],
  },
  {
    name: 'kept: a long turn is folded again for each event the doctor looks at',
    edits: [
      {
        file: 'src/upkeep/log-fold.ts',
        find: 'if (!isFull && !this.#watched.has(event.seq)) return',
        replace: 'if (!isLandmark && !isFull && !this.#watched.has(event.seq)) return',
      },
    ],
    killedBy: [
      { file: 'src/upkeep/log-fold.test.ts', test: 'a long turn is not folded again for each landmark in it' },
    ],
  },
  {
    name: 'kept: a store that sends changes again has no keys for them',
    edits: [{ file: 'src/store/postgres/postgres-store.ts', find: 'resends: true', replace: 'resends: false' }],
    killedBy: [
      {
        file: 'test/faults/lost-send.test.ts',
        test: 'a message without a key whose acknowledgement is lost is in the log once, and is answered (postgres)',
      },
    ],
  },
  {
    name: 'kept: an abort between two waits is not noticed',
    edits: [{ file: 'src/base/abort.ts', find: '      if (this.#signal.aborted) this.#onAbort()\n', replace: '' }],
    killedBy: [abort('between two reads ends the wait that comes next')],
  },
  {
    name: 'kept: the listener of an answer stays on the signal',
    edits: [
      {
        file: 'src/base/abort.ts',
        find: "    this.#signal.removeEventListener('abort', this.#onAbort)\n",
        replace: '',
      },
    ],
    killedBy: [abort('leaves no listeners on the signal')],
  },
]
