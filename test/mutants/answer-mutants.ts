import type { Case, Mutant } from './mutant.ts'

const newTool = (test: string): Case => ({ file: 'test/stories/deploys-new-tool.test.ts', test })
const keyed = (test: string): Case => ({ file: 'test/stories/humans-keys.test.ts', test })

/** Bugs that lose an answer: a retry that is told that it came too late, an approval that a deploy eats. */
export const answerMutants: readonly Mutant[] = [
  {
    name: 'keys of answers: a retry is told who was first',
    edits: [
      {
        file: 'src/runtime/answer-call.ts',
        find: 'if (request.digest === undefined || lastSeq === 0) return false',
        replace: 'if (request.digest !== null || lastSeq === 0) return false',
      },
    ],
    killedBy: [keyed('whose acknowledgement was lost is accepted when it is given again: approve')],
  },
  {
    name: 'keys of answers: another value under the same key is accepted',
    edits: [
      {
        file: 'src/runtime/answer-call.ts',
        find: '...(given === undefined ? [] : [given as Json])',
        replace: '...(given === undefined ? [] : [])',
      },
    ],
    killedBy: [keyed('is refused when the key stands for another: answer')],
  },
  {
    name: 'keys of answers: another verb under the same key is accepted',
    edits: [
      { file: 'src/runtime/answer-call.ts', find: 'digestOf(verb, callId', replace: "digestOf('answer', callId" },
    ],
    killedBy: [keyed('is refused when the key stands for the same value of another verb')],
  },
  {
    name: 'keys of answers: they are those of messages',
    edits: [{ file: 'src/runtime/answer-call.ts', find: 'key: `answer/${key}`,', replace: 'key,' }],
    killedBy: [keyed('takes no key of a message')],
  },
  {
    name: 'deploys: a node without the tool ends the approved call',
    edits: [
      {
        file: 'src/engine/turn/running-calls.ts',
        find: 'this.#waitMs(call) > 0',
        replace: 'this.#waitMs(call) < 0',
      },
    ],
    killedBy: [newTool('is run by one of them, though nodes without it find the approved call first')],
  },
  {
    name: 'deploys: a node without the tool holds the conversation',
    edits: [
      { file: 'src/engine/turn/running-calls.ts', find: 'if (call) throw', replace: 'if (call && !this.#ref) throw' },
    ],
    killedBy: [newTool('is run by one of them, though nodes without it find the approved call first')],
  },
  {
    name: 'deploys: a missing tool is waited for without end',
    edits: [
      {
        file: 'src/engine/turn/running-calls.ts',
        find: 'Math.max(0, until - now)',
        replace: 'Math.max(1, until - now)',
      },
    ],
    killedBy: [newTool('is missed for as long as was set, and then its call ends as an error')],
  },
  {
    name: 'deploys: what is left to others is not looked at again',
    edits: [
      {
        file: 'src/engine/lease/skipped-conversations.ts',
        find: 'if (until <= now || isWaiting',
        replace: 'if (isWaiting',
      },
    ],
    killedBy: [newTool('is missed for as long as was set, and then its call ends as an error')],
  },
  {
    name: 'deploys: a child agent of a missing tool is refused',
    edits: [
      {
        file: 'src/engine/turn/running-calls.ts',
        find: "phase.kind === 'sub_agent' :",
        replace: "phase.kind === 'approval' :",
      },
    ],
    killedBy: [newTool('and starts a child agent is left to them too')],
  },
]
