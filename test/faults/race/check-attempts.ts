import { isDeepStrictEqual } from 'node:util'
import type { EventOf } from '../../../src/log/events.ts'
import type { ToolCall } from '../../../src/store/records.ts'
import type { TenantStore } from '../../../src/store/store.ts'
import type { WaitingCall } from './pending-calls.ts'
import type { Attempt } from './resolver-child.ts'

/** How one call ended in the store. */
export type Ending = { readonly row: ToolCall; readonly resolutions: readonly EventOf<'resolution'>[] }

/** Reads how the calls ended: of each, its row and all its resolutions. */
export async function readEndings(store: TenantStore, calls: readonly WaitingCall[]): Promise<Map<string, Ending>> {
  const endings = new Map<string, Ending>()
  for (const [conversation, group] of Map.groupBy(calls, (call) => call.conversation)) {
    const events = await store.streamEvents(conversation)
    const resolutions = events.filter((event) => event.type === 'resolution')
    for (const { callId } of group) {
      const row = await store.getToolCall(callId)
      if (!row) throw new Error(`the row of ${callId} is gone`)
      endings.set(callId, { row, resolutions: resolutions.filter(({ content }) => content.callId === callId) })
    }
  }
  return endings
}

/** One resolution per call, the row tells the same, and everybody who took part was told the truth about it. */
export function checkAttempts(endings: ReadonlyMap<string, Ending>, attempts: readonly Attempt[]): string[] {
  const violations: string[] = []
  for (const [callId, { row, resolutions }] of endings) {
    const [winner] = resolutions
    if (resolutions.length !== 1 || !winner) violations.push(`${callId} has ${resolutions.length} resolutions`)
    else if (row.status !== winner.content.status || !isDeepStrictEqual(row.result, winner.content.value)) {
      violations.push(`the row of ${callId} says ${row.status}, its resolution ${winner.content.status}`)
    }
  }
  for (const { callId, who, outcome } of attempts) {
    const winner = endings.get(callId)?.resolutions[0]
    switch (outcome.type) {
      case 'won':
        if (winner?.content.who !== who)
          violations.push(`${who} was told it won ${callId}, and ${winner?.content.who} did`)
        else if (winner.seq !== outcome.seq)
          violations.push(`${who} won ${callId} at ${winner.seq}, not ${outcome.seq}`)
        break
      case 'lost':
        if (winner?.content.who === who) violations.push(`${who} was told it lost ${callId}, and it won`)
        else if (!isDeepStrictEqual(outcome.winner, winner))
          violations.push(`${who} was shown a false winner of ${callId}`)
        break
      case 'refused':
        violations.push(`${who} was refused ${callId} for ${outcome.conflict}`)
        break
      case 'failed':
        violations.push(`${who} met ${outcome.failure.name} at ${callId}: ${outcome.failure.message}`)
    }
  }
  return violations
}
