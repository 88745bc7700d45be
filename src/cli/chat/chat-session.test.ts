import { expect, test } from 'vitest'
import { emptyState } from '../../log/state.ts'
import { viewOf } from '../../view/view-of.ts'
import { coloursOf } from '../terminal/text.ts'
import type { ChatPort } from './chat-port.ts'
import { ChatSession } from './chat-session.ts'
import { Screen } from './screen.ts'

class TornScreen extends Screen {
  override setFoot(): void {
    throw new Error('the screen is torn')
  }
}

test('an error in the drawing of a view ends the chat with that error', async () => {
  const port = {
    async *views() {
      yield viewOf('story', emptyState)
    },
  } as Partial<ChatPort> as ChatPort
  const screen = new TornScreen({ write: () => true }, coloursOf(false))
  await expect(new ChatSession(port, screen, { agent: 'clerk' }).run()).rejects.toThrow('the screen is torn')
})
