import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyConversation } from '../../test/log/any-events.ts'
import { placed } from '../../test/log/story.ts'
import { foldEvents } from '../log/fold-events.ts'
import { emptyState } from '../log/state.ts'
import { foldView } from './growing-view.ts'
import { viewOf } from './view-of.ts'

test('a view at a checkpoint, with the events after it, is the view of the whole log', () => {
  fc.assert(
    fc.property(anyConversation, fc.nat(), (events, place) => {
      const log = placed(events)
      const at = log.length === 0 ? 0 : place % (log.length + 1)
      const checkpoint = viewOf('c', foldEvents(log.slice(0, at)))
      expect(foldView(checkpoint, log.slice(at))).toEqual(viewOf('c', foldEvents(log)))
      // As a browser gets it, and with events that it has already.
      const received = JSON.parse(JSON.stringify(checkpoint)) as typeof checkpoint
      expect(JSON.stringify(foldView(received, log))).toBe(JSON.stringify(viewOf('c', foldEvents(log))))
    }),
  )
  expect(foldView(viewOf('c', emptyState), [])).toEqual(viewOf('c', emptyState))
})
