import type { Case, Mutant } from './mutant.ts'

const conformance = 'src/store/memory/memory-store.test.ts'
const found = (test: string): Case => ({ file: 'test/reference-store/found-by-random-commands.test.ts', test })
const reference = {
  file: 'test/reference-store/reference-store.test.ts',
  test: 'the memory store does what the reference store does',
}

/** Bugs in what all stores share, and in the memory store. */
export const seamMutants: readonly Mutant[] = [
  {
    name: 'a delay is given to setTimeout as it is',
    edits: [
      {
        file: 'src/base/clock.ts',
        find: 'const slice = Math.min(remainingMs, longestTimeoutMs)',
        replace: 'const slice = remainingMs',
      },
    ],
    killedBy: [{ file: 'src/base/clock.test.ts', test: 'after thirty days: not before, then once' }],
  },
  {
    name: 'minus zero is written as zero',
    edits: [
      {
        file: 'src/log/codec.ts',
        find: "return value === 0 && Object.is(value, -0) ? 'negative_zero' : 'plain'",
        replace: "return 'plain'",
      },
    ],
    killedBy: [{ file: 'src/log/codec.test.ts', test: 'minus zero deep inside' }, reference],
  },
  {
    name: 'the size of an event is counted in characters',
    edits: [
      {
        file: 'src/store/prepare-change.ts',
        find: 'content.length * 3 > Math.min(limit, largeEventBytes) ? Buffer.byteLength(content) : 0',
        replace: 'content.length',
      },
    ],
    killedBy: [{ file: conformance, test: 'an event of more than a mebibyte is refused, and all of its commit' }],
  },
  {
    name: 'a request to cancel does not wake',
    edits: [
      {
        file: 'src/log/event-roles.ts',
        find: "  'cancel_requested',\n  'flow_started',\n])\n\n/** Events that may begin",
        replace: "  'flow_started',\n])\n\n/** Events that may begin",
      },
    ],
    killedBy: [{ file: conformance, test: 'cancel_requested wakes the conversation, appended or committed' }],
  },
  {
    name: 'an explicit wake-up loses to the automatic one',
    edits: [
      {
        file: 'src/store/prepare-change.ts',
        find: "if (wakeAt === null) return { type: 'clear' }",
        replace: "if (wakeAt === null && !isWaking) return { type: 'clear' }",
      },
    ],
    killedBy: [{ file: conformance, test: 'an explicit wake-up wins over the automatic one' }],
  },
  {
    name: 'a fork shares the ids of its open calls with its source',
    edits: [
      {
        file: 'src/store/plan-fork.ts',
        find: '.map((callId) => [callId, freshId()])',
        replace: '.map((callId) => [callId, freshId() && callId])',
      },
    ],
    killedBy: [
      { file: conformance, test: 'an open call has a fresh id, the same in all its events and in its row' },
      { file: conformance, test: 'an answer in the source leaves the fork waiting, and the other way round' },
    ],
  },
  {
    name: 'a fork leaves started calls open',
    edits: [
      {
        file: 'src/store/plan-fork.ts',
        find: "if (phase.type === 'started' || (phase.type === 'pending'",
        replace: "if ((phase.type === 'pending'",
      },
    ],
    killedBy: [
      { file: conformance, test: 'a call that was started, and one of a child agent, ends as unknown' },
      reference,
    ],
  },
  {
    name: 'a call that was approved runs again in each fork',
    edits: [
      {
        file: 'src/store/plan-fork.ts',
        find: "return executor !== 'client' && executor !== 'human'",
        replace: "return executor === 'agent'",
      },
    ],
    killedBy: [
      {
        file: conformance,
        test: 'an approval counts once: a call that was approved ends as unknown, also where it was not started',
      },
      reference,
    ],
  },
  {
    name: 'memory: the key is checked after the epoch',
    edits: [
      {
        file: 'src/store/memory/commit-change.ts',
        find: "  if (earlier) return earlier.digest === change.digest ? { type: 'ok', seq: earlier.seq } : { type: 'key_reused' }\n  if (change.epoch !== null && row?.lease?.epoch !== change.epoch) return { type: 'epoch', lastSeq }\n",
        replace:
          "  if (change.epoch !== null && row?.lease?.epoch !== change.epoch) return { type: 'epoch', lastSeq }\n  if (earlier) return earlier.digest === change.digest ? { type: 'ok', seq: earlier.seq } : { type: 'key_reused' }\n",
      },
    ],
    killedBy: [
      { file: conformance, test: 'a known key is answered before everything else is looked at' },
      { file: conformance, test: 'a key is known after the lease and the log have moved on' },
    ],
  },
  {
    name: 'memory: the digest of a known key is ignored',
    edits: [
      {
        file: 'src/store/memory/commit-change.ts',
        find: "earlier.digest === change.digest ? { type: 'ok', seq: earlier.seq } : { type: 'key_reused' }",
        replace: "{ type: 'ok', seq: earlier.seq }",
      },
    ],
    killedBy: [
      { file: conformance, test: 'the same key with the same digest is the same request, with another it is refused' },
      reference,
    ],
  },
  {
    name: 'memory: the round of an answer is ignored',
    edits: [
      {
        file: 'src/store/memory/commit-change.ts',
        find: "call.status === 'pending' && call.round === round",
        replace: "call.status === 'pending'",
      },
    ],
    killedBy: [{ file: conformance, test: 'an answer to the first round never ends the second' }],
  },
  {
    name: 'a store forgets a lease when another conversation is released under its epoch',
    edits: [
      {
        file: 'src/store/lease.ts',
        find: 'if (held?.tenant !== tenant || held.id !== id) return',
        replace: 'if (!held || (tenant === id && tenant === held.id)) return',
      },
    ],
    killedBy: [found('a lease that is lost is told of, whatever else was released under its epoch')],
  },
  {
    name: 'a conversation that got another parent still goes with the first',
    edits: [
      {
        file: 'src/store/prepare-change.ts',
        find: 'stored.childOf = attrs.parent.callId === undefined ? null : attrs.parent.id',
        replace: 'if (attrs.parent.callId !== undefined) stored.childOf = attrs.parent.id',
      },
    ],
    killedBy: [found('a conversation that got another parent no longer goes with the first')],
  },
]
