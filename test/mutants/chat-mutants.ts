import type { Case, Mutant } from './mutant.ts'

const transport = (test: string): Case => ({ file: 'test/server/transport.test.ts', test })
const page = (test: string): Case => ({ file: 'test/browser/use-chat.test.ts', test })
const shown = (test: string): Case => ({ file: 'src/client/shown-message.test.ts', test })

/** Bugs in what connects the AI SDK. */
export const chatMutants: readonly Mutant[] = [
  {
    name: 'chat: stop() only stops reading',
    edits: [
      {
        file: 'src/client/chat-turns.ts',
        find: 'return isRunning ? this.#cancel(chatId, turnId) : false',
        replace: 'return false',
      },
    ],
    killedBy: [transport('stop() cancels the turn, and the next message is taken at once')],
  },
  {
    name: 'chat: a page that is mounted again has cancelled its turn',
    edits: [
      {
        file: 'src/client/chat-turns.ts',
        find: '    this.#stops.get(chatId)?.callOff()\n',
        replace: '',
      },
    ],
    killedBy: [transport('a page that is mounted twice, as React does in development, cancels nothing')],
  },
  {
    name: 'chat: the example lets useChat make its chat, so a route change cancels the turn',
    edits: [
      {
        file: 'examples/use-chat/page.tsx',
        find: 'useChat({ chat: open.chat, resume: true })',
        replace: 'useChat({ id: open.chat.id, messages: open.chat.messages, transport: open.transport, resume: true })',
      },
    ],
    killedBy: [page('a route change in the middle of an answer cancels nothing, and the page shows it once')],
  },
  {
    name: 'chat: the example shows a chat that was held as it was left',
    edits: [
      {
        file: 'examples/use-chat/open-chat.ts',
        find: 'if (messages && !isChatBusy(open.chat)) open.chat.messages = messages',
        replace: 'if (messages && open.chat.messages.length === 0) open.chat.messages = messages',
      },
    ],
    killedBy: [page('an answer that ended while another route was shown is on the page, and Stop still cancels')],
  },
  {
    name: 'chat: an approval waits until all are given',
    edits: [
      {
        file: 'src/client/chat-turns.ts',
        find: '.some((answer) => !this.#taken.has(answer))',
        replace: '.every((answer) => !this.#taken.has(answer)) && !isAsking(message)',
      },
    ],
    killedBy: [transport('each approval is sent when it is clicked, and survives a reload')],
  },
  {
    name: 'chat: the answer to one of several approvals keeps the page busy',
    edits: [
      { file: 'src/client/chat-turns.ts', find: '...(isAsking(message) ? { answersOnly: true } : {})', replace: '' },
    ],
    killedBy: [transport('an approval that is clicked while the call before it runs is sent at once')],
  },
  {
    name: 'chat: the page whose answer came second is not told who answered',
    edits: [
      {
        file: 'src/server/ui/ui-call-of.ts',
        find: 'const asked = pending ?? answeredRound(view, message, claim)',
        replace: 'const asked = pending',
      },
    ],
    killedBy: [transport('the page whose answer came second is told who answered, and shows what was answered')],
  },
  {
    name: 'chat: an answer that is sent again is told that it was late',
    edits: [
      {
        file: 'src/server/ui/ui-call-of.ts',
        find: 'const once = key === undefined ? {} :',
        replace: 'const once = key !== undefined ? {} :',
      },
    ],
    killedBy: [
      transport('an answer that is sent again because its acknowledgement was lost is not told that it was late'),
    ],
  },
  {
    name: 'chat: to resume a chat without messages is an error',
    edits: [
      {
        file: 'src/server/routes/ui.ts',
        find: "call.query['turn'] === undefined) return null",
        replace: "call.query['turn'] !== undefined) return null",
      },
    ],
    killedBy: [transport('to resume a chat that has no messages yet is quiet, with either transport')],
  },
  {
    name: 'chat: a turn that ended while no server was found is not shown to its end',
    edits: [
      {
        file: 'src/server/routes/ui.ts',
        find: "(call.query['turn'] as string | undefined) ?? openTurn(log)?.turnId",
        replace: 'openTurn(log)?.turnId',
      },
    ],
    killedBy: [transport('a turn that ended while no server was found is shown whole')],
  },
  {
    name: 'chat: what a stream repeats is shown twice',
    edits: [
      {
        file: 'src/client/shown-message.ts',
        find: 'const delta = text.slice(shown.text.length)',
        replace: 'const delta = text',
      },
    ],
    killedBy: [shown('a stream that is cut anywhere and begins again from the start shows the same in the end')],
  },
  {
    name: 'chat: text that was lost leaves an empty step behind',
    edits: [
      {
        file: 'src/client/shown-message.ts',
        find: 'this.#hasEmptyStep = truth.#steps.length <= last',
        replace: 'this.#hasEmptyStep = false',
      },
    ],
    killedBy: [shown('text that was lost is taken back, and what is written instead takes its place')],
  },
  {
    name: 'chat: the metadata of a message is lost',
    edits: [
      {
        file: 'src/server/ui/client-message.ts',
        find: 'return { data: { ...data, metadata } }',
        replace: 'return { data: { ...data } }',
      },
    ],
    killedBy: [transport('body and metadata are kept: for the tools, and on the message')],
  },
  {
    name: 'chat: force of a request is data of its turn',
    edits: [
      {
        file: 'src/client/chat-turns.ts',
        find: 'return { whenBusy, force, ...(',
        replace: 'return { whenBusy, ...(',
      },
    ],
    killedBy: [transport('a turn that had an effect is tried again with `force` in the body, and not without')],
  },
]
