import { isDeepStrictEqual } from 'node:util'
import type { LogEvent } from '../../../src/log/events.ts'
import { hideWithheld } from '../../../src/view/hidden.ts'
import type { Told } from '../scenarios/scenario.ts'

/** Whatever a client was told is in the log. */
export function checkTold(log: readonly LogEvent[], told: readonly Told[]): string[] {
  return told.flatMap((told) => (isTrue(told, log) ? [] : [`a client was told what is not so: ${describe(told)}`]))
}

function isTrue(told: Told, log: readonly LogEvent[]): boolean {
  switch (told.type) {
    // What people meant to do, and may not have come to.
    case 'forced':
      return true
    case 'sent':
      return log.some(
        ({ type, content }) => type === 'user_msg' && content.key === told.key && content.turnId === told.turnId,
      )
    case 'answered':
      return log.some(
        ({ type, content }) => type === 'resolution' && content.callId === told.callId && content.round === told.round,
      )
    case 'ended':
      return log.some(
        ({ type, content }) =>
          type === 'turn_ended' && content.turnId === told.turnId && content.status === told.status,
      )
    case 'noted':
      return log[told.seq - 1]?.type === 'note'
    case 'moved':
      return log.some(
        ({ type, at, content }) =>
          type === 'deadline_moved' &&
          content.callId === told.callId &&
          content.round === told.round &&
          at + content.expiresInMs! === told.expiresAt,
      )
    case 'seen':
      return isDeepStrictEqual([...hideWithheld(log)][told.event.seq - 1], told.event)
  }
}

function describe(told: Told): string {
  return told.type === 'seen' ? `event ${told.event.seq}, ${told.event.type}` : JSON.stringify(told)
}
