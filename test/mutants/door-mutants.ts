import type { Case, Mutant } from './mutant.ts'

const addressed = (test: string): Case => ({ file: 'test/stories/children-addressed.test.ts', test })
const route = (test: string): Case => ({ file: 'test/server/child-routes.test.ts', test })
const elsewhere = (test: string): Case => ({ file: 'test/stories/humans-elsewhere.test.ts', test })

const limits = (test: string): Case => ({ file: 'test/stories/turns-limits.test.ts', test })
const allowed = (of: string) => limits(`a caller who asks for more than the agent allows gets what it allows: ${of}`)

const awaited = (test: string): Case => ({ file: 'test/processes/awaited-timeouts.test.ts', test })
const seeding = (test: string): Case => ({ file: 'test/stories/snapshots-seeding.test.ts', test })

const hostile = (surface: string, test: string): Case => ({ file: `test/hostile/${surface}-verbs.test.ts`, test })

const pastParent = 'is not talked to past its parent, and the error names it'

/** One rule each of what callers may reach: who may be talked to, and which calls may be answered where. */
export const doorMutants: readonly Mutant[] = [
  {
    name: 'doors: an agent that only a tool starts is sent to',
    edits: [
      {
        file: 'src/runtime/conversation-handle.ts',
        find: 'name === null ? undefined : addressable.get(name)',
        replace: 'name === null ? undefined : agents.get(name)',
      },
    ],
    killedBy: [addressed('is not there for a caller: a new conversation'), route('sendMessage')],
  },
  {
    name: 'doors: an agent that only a tool starts is asked by a flow',
    edits: [
      {
        file: 'src/runtime/ask-agent.ts',
        find: '!addressable.has(op.agent)',
        replace: '!runtime.node.agents.has(op.agent)',
      },
    ],
    killedBy: [addressed('is not there for a flow, however it is named')],
  },
  {
    name: 'doors: an agent that only a tool starts works without a parent',
    edits: [
      {
        file: 'src/engine/turn/drive.ts',
        find: 'if (!parent && !node.addressable.has(agent.name))',
        replace: 'if (!parent && !node.addressable)',
      },
    ],
    killedBy: [
      addressed('does not work on what no call of a parent has started, and the list says so'),
      addressed('does not go on in a copy that another node made, and its inbox says so'),
    ],
  },
  {
    name: 'doors: the inbox finds code for what no node works on',
    edits: [
      {
        file: 'src/runtime/read/lists.ts',
        find: 'path.length > 1 ? node.agents : node.addressable',
        replace: 'path.length > 0 ? node.agents : node.addressable',
      },
    ],
    killedBy: [addressed('does not go on in a copy that another node made, and its inbox says so')],
  },
  {
    name: 'doors: a child is sent to past its parent',
    edits: [
      {
        file: 'src/runtime/send-verbs.ts',
        find: '    await refuseChild(store, id)\n',
        replace: '',
      },
    ],
    killedBy: [addressed(pastParent), addressed('is not talked to after its end either')],
  },
  {
    name: 'doors: a child is continued past its parent',
    edits: [
      {
        file: 'src/runtime/conversation-handle.ts',
        find: '      await refuseChild(store, id)\n      await recordOf()\n',
        replace: '      await recordOf()\n',
      },
    ],
    killedBy: [addressed(pastParent), route('continueConversation')],
  },
  {
    name: "doors: what was given to a tool's agent goes on when it is told to",
    edits: [
      {
        file: 'src/runtime/conversation-handle.ts',
        find: '      await refuseToolsAgent(id)\n',
        replace: '',
      },
    ],
    killedBy: [addressed('is not there for a conversation that was given to it in the store')],
  },
  {
    name: 'doors: a copy of a child keeps its agent',
    edits: [
      {
        file: 'src/runtime/conversation-handle.ts',
        find: 'if (name === undefined) await refuseToolsAgent(newId)\n      else if (!',
        replace: 'if (name !== undefined && !',
      },
    ],
    killedBy: [addressed(pastParent), route('forkConversation')],
  },
  {
    name: 'doors: a copy goes on with an agent that only a tool starts',
    edits: [
      {
        file: 'src/runtime/conversation-handle.ts',
        find: 'else if (!addressable.has(name)) throw',
        replace: 'else if (!agents.has(name)) throw',
      },
    ],
    killedBy: [addressed(pastParent)],
  },
  {
    name: 'doors: the id of a child that is yet to start can be taken',
    edits: [
      {
        file: 'src/engine/child/child-calls.ts',
        find: 'return (await parentCallOf(store, id)) ?? (await callingFor(store, callId))',
        replace: 'return await parentCallOf(store, id)',
      },
    ],
    killedBy: [addressed('is not taken by a message, a copy or a session')],
  },
  {
    name: 'doors: whatever has the id of a child is taken for it',
    edits: [
      {
        file: 'src/engine/child/child-family.ts',
        find: '  if (record.parent?.callId !== callId) throw new ConversationExistsError(childId)\n',
        replace: '',
      },
    ],
    killedBy: [addressed('where something else has it all the same, the call ends as an error')],
  },
  {
    name: 'doors: a page is shown for an agent that only a tool starts',
    edits: [
      {
        file: 'src/server/answer.ts',
        find: '  if (!agents.includes(agent)) throw new AgentMissingError(agent, record.id, agents)\n',
        replace: '',
      },
    ],
    killedBy: [route('uiMessages')],
  },
  {
    name: 'doors: the answer to a call of another conversation is told',
    edits: [
      {
        file: 'src/runtime/answer-call.ts',
        find: "if (row?.conversationId !== id || row.status === 'pending') throw new CallNotFoundError(callId)\n  const result = await store.commit(id, {",
        replace:
          "if (!row || row.status === 'pending') throw new CallNotFoundError(callId)\n  const result = await store.commit(row.conversationId, {",
      },
    ],
    killedBy: [
      elsewhere('is not found when it has been answered, and nothing is told of the answer: approve'),
      elsewhere('is not found from a child, nor from a sibling of it; those above find it'),
      { file: 'test/server/calls-elsewhere.test.ts', test: 'approveCall' },
    ],
  },
  {
    name: 'doors: a call is answered from any conversation',
    edits: [
      {
        file: 'src/runtime/answer-call.ts',
        find: '    if (parent.conversationId === id) return row.conversationId\n',
        replace: '    return row.conversationId\n',
      },
    ],
    killedBy: [elsewhere('is not found from a child, nor from a sibling of it; those above find it')],
  },
  {
    name: 'doors: a caller raises the limits of an agent',
    edits: [
      {
        file: 'src/engine/turn-options.ts',
        find: 'return Math.min(asked ?? Number.POSITIVE_INFINITY, allowed ?? Number.POSITIVE_INFINITY)',
        replace: 'return asked ?? allowed ?? Number.POSITIVE_INFINITY',
      },
    ],
    killedBy: [
      allowed('maxSteps'),
      {
        file: 'test/stories/children-budgets.test.ts',
        test: 'is no more than the agent that called it allows, whatever was asked for',
      },
    ],
  },
  {
    name: 'doors: a caller raises the tokens of an agent',
    edits: [
      {
        file: 'src/engine/turn-options.ts',
        find: 'lower(options.maxTokens, agent.maxTokens)',
        replace: 'lower(options.maxTokens, options.maxTokens ? null : agent.maxTokens)',
      },
    ],
    killedBy: [allowed('maxTokens')],
  },
  {
    name: 'doors: a server that forbids options of a turn takes them',
    edits: [
      {
        file: 'src/server/routes/turns.ts',
        find: 'if (!server.settings.turnOptions) refuseTurnOptions(options)',
        replace: 'if (!server.settings.turnOptions && options.output) refuseTurnOptions(options)',
      },
    ],
    killedBy: [
      { file: 'test/server/turn-options.test.ts', test: 'a server may forbid the options of a turn: maxSteps' },
    ],
  },
  {
    name: 'doors: a process ends while it awaits a timeout',
    edits: [
      {
        file: 'src/base/clock.ts',
        find: 'held.timer.ref()',
        replace: 'held.timer.unref()',
      },
    ],
    killedBy: [
      awaited('a loadState that hangs, in send'),
      awaited('a persistState that hangs, in close'),
      awaited('whether the store answers'),
    ],
  },
  {
    name: 'doors: a process stays for a timeout that was called off',
    edits: [
      {
        file: 'src/base/clock.ts',
        find: '  return () => {\n    letGo()\n',
        replace: '  return () => {\n',
      },
    ],
    killedBy: [
      {
        file: 'src/base/with-timeout.test.ts',
        test: 'the process is kept until the time has passed or was called off, and not longer',
      },
    ],
  },
  {
    name: 'doors: a process ends while it watches',
    edits: [
      {
        file: 'src/runtime/read/watch.ts',
        find: 'const letProcessEnd = keepAlive.hold()',
        replace: 'const letProcessEnd = keepAlive.hold()\n  letProcessEnd()',
      },
    ],
    killedBy: [awaited('what is watched, until a signal')],
  },
  {
    name: 'doors: a loadState that says it failed begins an empty log',
    edits: [
      { file: 'src/snapshot/snapshots.ts', find: "failureIn(loaded, 'loadState')", replace: 'null as Error | null' },
    ],
    killedBy: [
      seeding('by code that says that it failed is an error: nothing is sent, and the next try may find it'),
      seeding('by code that returns an error is an error: nothing is sent, and the next try may find it'),
    ],
  },
  {
    name: 'doors: what a getter throws is passed on as it is',
    edits: [
      {
        file: 'src/base/errors/read-options.ts',
        find: '    if (PerdureError.isInstance(error)) throw error\n',
        replace: '    if (PerdureError.isInstance(error) || name) throw error\n',
      },
    ],
    killedBy: [
      hostile('runtime', 'conversation: send'),
      hostile('store', 'commit'),
      hostile('client', 'conversation: send'),
    ],
  },
  {
    name: 'doors: anything may be a key',
    edits: [
      {
        file: 'src/runtime/send-message.ts',
        find: "  if (key !== undefined) checkId('key', key)\n",
        replace: '',
      },
    ],
    killedBy: [hostile('runtime', 'conversation: send')],
  },
  {
    name: 'doors: anything may be a scope',
    edits: [
      {
        file: 'src/engine/scopes.ts',
        find: "if (typeof scope === 'object' && scope !== null) return",
        replace: "if (typeof scope !== 'undefined') return",
      },
    ],
    killedBy: [
      { file: 'src/engine/identity.test.ts', test: 'a scope that is no object is refused: null' },
      { file: 'src/engine/identity.test.ts', test: 'a scope that is no object is refused: 5' },
    ],
  },
  {
    name: 'doors: a value that throws is refused without a code',
    edits: [
      {
        file: 'src/log/codec.ts',
        find: 'throw PerdureError.isInstance(error) ? error : unreadable(path, thrownText(error))',
        replace: 'throw error',
      },
    ],
    killedBy: [hostile('store', 'putSnapshot')],
  },
  {
    name: 'doors: an error that does not let itself be asked is passed on',
    edits: [
      {
        file: 'src/base/errors/perdure-error.ts',
        find: '      // A proxy whose traps throw is not a PerdureError.\n      return false',
        replace: "      return typeof error === 'object' && error !== null && marker in error",
      },
    ],
    killedBy: [
      {
        file: 'src/base/errors/read-options.test.ts',
        test: 'whatever is thrown can be asked whether it is ours, and be told',
      },
    ],
  },
  {
    name: 'doors: a path takes dots for its own',
    edits: [
      {
        file: 'src/client/request.ts',
        find: "value === '' || value === '.' || value === '..'",
        replace: "value === ''",
      },
    ],
    killedBy: [hostile('client', 'dots are not taken for steps of the path')],
  },
  {
    name: 'server: what the status of a session reads is awaited one after the other',
    edits: [
      {
        file: 'src/server/routes/flows.ts',
        find: 'const [pending, suspensions, wakeAt, result] = await Promise.all(reads)',
        replace:
          'const [pending, suspensions, wakeAt, result] = [await reads[0], await reads[1], await reads[2], await reads[3]]',
      },
    ],
    killedBy: [
      {
        file: 'test/server/store-failures.test.ts',
        test: 'a store that fails in the middle of a request is told of, and does not end the server: status of a session',
      },
    ],
  },
  {
    name: 'server: a turn behind an unknown event is said to be missing',
    edits: [
      {
        file: 'src/server/routes/turns.ts',
        find: 'if (unknownEvent || findTurn(log, turnId)) return ended',
        replace: 'if (findTurn(log, turnId)) return ended',
      },
    ],
    killedBy: [
      {
        file: 'test/server/unreadable-outcome.test.ts',
        test: 'a turn behind an event that the node does not know is not said to be missing',
      },
    ],
  },
]
