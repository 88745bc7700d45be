import type { Change, ResolveCall } from '../../store/change.ts'
import { fsmState, resolution, suspension } from './event-builders.ts'

/** A change that writes all there is to write, for a conversation that waits for the call 'one' at seq 4. */
export function everythingChange(epoch: number): Change {
  return {
    events: [resolution('one'), suspension('two')],
    key: 'everything',
    epoch,
    expectedSeq: 4,
    resolve: [answer('one')],
    calls: [{ id: 'two', name: 'refund', expiresInMs: 60_000 }],
    conversation: { title: 'New', settings: { colour: 'red' }, status: 'ended' },
    fsmState: fsmState('running', 6),
    wakeAt: 'now',
    lease: 'release',
  }
}

export function answer(callId: string): ResolveCall {
  return { callId, round: 1, status: 'resolved', result: true }
}
