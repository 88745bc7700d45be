import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { said, stateOf } from '../../../test/log/story.ts'
import { emptyState } from '../../log/state.ts'
import { viewOf } from '../../view/view-of.ts'
import { coloursOf, type Printable } from '../terminal/text.ts'
import type { ChatPort } from './chat-port.ts'
import { ChatSession } from './chat-session.ts'
import { Screen } from './screen.ts'

class FragileScreen extends Screen {
  isTorn = false

  override print(...lines: readonly Printable[]): void {
    if (this.isTorn) throw new Error('the screen is torn')
    super.print(...lines)
  }
}

test.each([1, 2])('an error in the drawing of view %i ends the chat with that error', async (view) => {
  const screen = new FragileScreen({ write: () => true }, coloursOf(false))
  const port = {
    async *views() {
      screen.isTorn = view === 1
      yield viewOf('story', view === 1 ? stateOf([said('t1')]) : emptyState)
      await nextTurn()
      screen.isTorn = true
      yield viewOf('story', stateOf([said('t1')]))
    },
  } as Partial<ChatPort> as ChatPort
  await expect(new ChatSession(port, screen, { agent: 'clerk' }).run()).rejects.toThrow('the screen is torn')
})
