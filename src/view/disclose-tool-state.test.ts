import { describe, expect, test } from 'vitest'
import { called, placed, replied, said, started, suspended } from '../../test/log/story.ts'
import type { NewEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { toolAsked } from '../log/validate-event.ts'
import { discloseEvents, discloseState, discloseView, discloseWatched, everything } from './disclose.ts'
import { viewOf } from './view-of.ts'

const hidden = { errors: false, withheld: false }
const secret = 'eyJhbGciOi.hunter2'

describe('what a tool gets back with the answer to its question', () => {
  const asked = (callId: string, round: number): NewEvent =>
    toolAsked({ callId, round, state: { requestState: secret } })
  const log = placed([
    said('t1'),
    replied('t1', 'm1', 1, { calls: ['c1', 'c2'] }),
    called('c1'),
    called('c2'),
    started('c1'),
    asked('c1', 1),
    suspended('c1', 'elicitation'),
    started('c2'),
    asked('c2', 1),
  ])
  const state = foldEvents(log)

  test.each([hidden, { errors: true, withheld: false }])('is only for operators: not for %j', (disclosure) => {
    const shown = discloseState(state, disclosure)
    const watched = log.map((event) => discloseWatched(event, disclosure))
    for (const disclosed of [
      shown,
      discloseEvents(log, disclosure),
      watched,
      discloseView(viewOf('c', state), disclosure),
    ])
      expect(JSON.stringify(disclosed)).not.toContain('hunter2')
    expect(foldEvents(discloseEvents(log, disclosure))).toEqual(shown)
    expect(discloseState(shown, disclosure)).toBe(shown)
    // Pages still learn that the tool asked.
    expect(shown.turns[0]?.calls[0]?.rounds[0]).toMatchObject({ kind: 'elicitation', toolState: null })
    expect(discloseState(state, everything)).toBe(state)
  })
})
