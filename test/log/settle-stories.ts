import { describe, expect, test } from 'vitest'
import type { AssistantPart, NewEvent, ToolCallContent } from '../../src/log/events.ts'
import { type Outcome, settle } from '../../src/log/settle.ts'
import { called, continued, replied, said, stateOf } from './story.ts'

/** A log and an outcome in hand, and what is appended for it. */
type Story = {
  readonly name: string
  readonly log: NewEvent[]
  readonly outcome: Outcome
  readonly append: NewEvent[]
}

/** Tests each story, and that nothing is appended the second time. */
export function tell(title: string, stories: Story[]): void {
  describe(title, () => {
    test.each(stories)('$name', ({ log, outcome, append }) => {
      const state = stateOf(log)
      const events = settle(state, outcome)
      expect(events).toEqual(append)
      expect(settle(continued(state, events), outcome)).toEqual([])
    })
  })
}

export const text: AssistantPart = { type: 'text', text: 'this is m1' }
export const plainCall: AssistantPart = {
  type: 'plain_call',
  providerCallId: 'provider-c1',
  name: 'refund',
  args: { cents: 5 },
}
export const calling = (options: Partial<ToolCallContent> = {}): NewEvent[] => [
  said('t1'),
  replied('t1', 'm1', 1, { calls: ['c1'] }),
  called('c1', options),
]
