import { Window } from 'happy-dom'
import type { FunctionComponent } from 'react'
import type { Sdk } from './ui-assemble.ts'
import type { Chat, Message, Part } from './ui-chat.ts'

export type Page = {
  /** What a person reads. */
  text(): string
  click(label: string): Promise<void>
  say(text: string): Promise<void>
  close(): Promise<void>
}

export type PageOptions = {
  readonly api: string
  readonly id?: string
  readonly messages?: readonly Message[]
  readonly resume?: boolean
  readonly onToolCall?: (name: string, input: unknown) => unknown
}

/** A chat page in a document of its own: the real `useChat` with its own transport, rendered by React. */
export async function openPage(
  sdk: Sdk,
  { api, id = 'c', messages = [], resume, onToolCall }: PageOptions,
): Promise<Page> {
  const window = new Window({ url: 'http://localhost/' })
  // React looks for them when it is loaded, and never again.
  Object.assign(globalThis, { window, document: window.document })
  const [{ createElement: h }, { createRoot }] = await Promise.all([import('react'), import('react-dom/client')])
  const { useChat } = (await (sdk === 'v6' ? import('@ai-sdk/react-3') : import('@ai-sdk/react'))) as unknown as UseChat
  const ai = (await (sdk === 'v6' ? import('ai-6') : import('ai'))) as typeof import('ai')

  const page: FunctionComponent = () => {
    const chat: Chat = useChat({
      id,
      messages,
      resume: resume ?? false,
      transport: new ai.DefaultChatTransport({ api }),
      sendAutomaticallyWhen: (shown: never) =>
        ai.lastAssistantMessageIsCompleteWithApprovalResponses(shown) ||
        ai.lastAssistantMessageIsCompleteWithToolCalls(shown),
      onToolCall({ toolCall }: { toolCall: { toolName: string; toolCallId: string; input: unknown } }) {
        const output = onToolCall?.(toolCall.toolName, toolCall.input)
        if (output !== undefined)
          void chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output })
      },
    })
    latest = chat
    const shownPart = (part: Part, index: number) => h('p', { key: index }, ...shown(part, chat))
    const shownMessage = ({ id: key, role, parts }: Message) => h('article', { key, title: role }, parts.map(shownPart))
    const button = (label: string, onClick: () => unknown) => h('button', { key: label, onClick }, label)
    return h('main', null, [
      h('section', { key: 'messages' }, chat.messages.map(shownMessage)),
      h('output', { key: 'status' }, `[${chat.status}]`),
      h('strong', { key: 'error' }, chat.error?.message ?? ''),
      button('Stop', () => chat.stop()),
      button('Resume', () => chat.resumeStream()),
    ])
  }

  function shown(part: Part, chat: Chat) {
    if (part.type === 'text') return [part.text ?? '']
    if (part.type === 'reasoning') return [`(${part.text})`]
    if (!part.type.startsWith('tool-')) return []
    const approve = (approved: boolean) => () => chat.addToolApprovalResponse({ id: part.approval!.id, approved })
    const buttons = [
      h('button', { onClick: approve(true) }, 'Approve'),
      h('button', { onClick: approve(false) }, 'Deny'),
    ]
    const state = `${part.type} ${part.state} ${JSON.stringify(part.output ?? part.errorText ?? part.input ?? null)}`
    return part.state === 'approval-requested' ? [state, ...buttons] : [state]
  }

  let latest: Chat | null = null
  const host = window.document.createElement('div')
  window.document.body.appendChild(host)
  const root = createRoot(host as unknown as Element)
  root.render(h(page))
  await settled()
  return {
    text: () => host.textContent ?? '',
    async click(label) {
      const buttons = [...host.querySelectorAll('button')]
      const found = buttons.find(({ textContent }) => textContent === label)
      if (!found) throw new Error(`there is no button '${label}' in: ${host.textContent}`)
      found.dispatchEvent(new window.MouseEvent('click', { bubbles: true }) as never)
      await settled()
    },
    async say(text) {
      void latest?.sendMessage({ text })
      await settled()
    },
    async close() {
      // A browser lets go of the connections of a page that is closed.
      await latest?.stop()
      root.unmount()
      await settled()
      await window.happyDOM.close()
    },
  }
}

type UseChat = { useChat(options: object): Chat }

/** React renders in tasks of its own. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0))
}
