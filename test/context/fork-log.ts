import { decode, encode } from '../../src/log/codec.ts'
import type { LogEvent } from '../../src/log/events.ts'
import type { ForkSource } from '../../src/store/plan-fork.ts'
import { planFork } from '../../src/store/plan-fork.ts'

/** The log of a fork, as a store would have it. */
export function forkLog(log: readonly LogEvent[], at: number): LogEvent[] {
  const source = {
    conversation: {
      id: 'story',
      kind: 'conversation',
      agent: null,
      status: 'active',
      settings: '{}',
      lastSeq: log.length,
    },
    summary: null,
    events: log
      .slice(0, at)
      .map(({ seq, at: time, type, content }) => ({ seq, at: time, type, content: encode(content) })),
    pending: [],
    at,
  } as unknown as ForkSource
  let fresh = 0
  const { replaced, appended } = planFork(source, 'fork', () => `fork-${++fresh}`)
  const changed = new Map(replaced.map(({ seq, content }) => [seq, decode(content)]))
  const copied = log.slice(0, at).map((event) => ({ ...event, content: changed.get(event.seq) ?? event.content }))
  const added = appended.map(({ type, content }, index) => ({
    type,
    content: decode(content),
    seq: at + 1 + index,
    at: 0,
  }))
  return [...copied, ...added].map((event) => ({ ...event, conversationId: 'fork' })) as LogEvent[]
}
