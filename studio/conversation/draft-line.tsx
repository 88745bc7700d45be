import type { Draft, DraftPart } from 'perdure/client'
import { useDraft } from 'perdure/react'
import { Markdown } from '../parts/markdown.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { MessageFrame } from './message-frame.tsx'
import { Reasoning } from './reasoning.tsx'
import { useTranscript } from './transcript-context.ts'

type DraftProps = { readonly draft: Draft; readonly isContinued: boolean }

/** A message that is being written. Only this line renders when text arrives. */
export function DraftLine(props: DraftProps) {
  const { isLive } = useTranscript()
  return isLive ? <LiveDraft {...props} /> : <Written {...props} />
}

function LiveDraft({ draft, isContinued }: DraftProps) {
  const { conversationId } = useTranscript()
  return <Written draft={useDraft(conversationId, draft.messageId) ?? draft} isContinued={isContinued} />
}

function Written({ draft: { parts, attempt = 1 }, isContinued }: DraftProps) {
  const { agent } = useTranscript()
  return (
    <MessageFrame
      who={agent}
      marks={attempt > 1 ? [`attempt ${attempt}`] : []}
      isWriting
      isContinued={isContinued && attempt === 1}
    >
      {parts.map((part) => (
        <WrittenPart key={`${part.type}${part.part}`} part={part} />
      ))}
      {parts.length === 0 && <p className="text-faint">Thinking…</p>}
    </MessageFrame>
  )
}

function WrittenPart({ part: { type, text, name } }: { part: DraftPart }) {
  if (type === 'text') return <Markdown text={text} />
  if (type === 'reasoning') return <Reasoning text={text} isWriting />
  return (
    <p className="truncate border-l-2 pl-3 text-soft">
      <code>{oneLine(name ?? 'tool', 80)}</code> <code className="text-faint">{oneLine(text.slice(-160))}</code>
    </p>
  )
}
