import { GitFork, Pencil } from 'lucide-react'
import type { ViewMessage } from 'perdure/client'
import { usePlace } from '../inspector/place.ts'
import { IconButton } from '../parts/icon-button.tsx'
import { Markdown } from '../parts/markdown.tsx'
import { each } from '../parts/scroller.tsx'
import { byteSize } from '../parts/shown-text.ts'
import { FilePart } from './file-part.tsx'
import { MessageFrame } from './message-frame.tsx'
import { MoreInLog } from './more-in-log.tsx'
import { useTranscript } from './transcript-context.ts'

type ViewUserMessage = Extract<ViewMessage, { role: 'user' }>

/** What a person said. */
export function UserMessage({ message, isSteering }: { message: ViewUserMessage; isSteering: boolean }) {
  const { actions, event } = useTranscript()
  const { go } = usePlace()
  const { who, seq, at, turnId, parts, isQueued, variants, previousSeq, restored, leftOut } = message
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n')
  const marks = [
    ...(isQueued ? ['queued'] : []),
    ...(isSteering ? ['steered the turn'] : []),
    ...(restored ? ['restored'] : []),
    ...(variants !== undefined && previousSeq !== undefined
      ? [
          <button
            key="variants"
            type="button"
            className="rounded-xs bg-hover px-1 text-soft underline-offset-2 hover:text-text hover:underline"
            title="Go back to the variant before this one"
            onClick={() => go({ at: previousSeq })}
          >
            variant {variants}, see the one before
          </button>,
        ]
      : []),
  ]
  const canEdit = actions?.edit && !isQueued && !restored && !isSteering
  return (
    <MessageFrame
      who={who}
      seq={seq}
      at={at}
      marks={marks}
      isSelected={event === seq}
      actions={
        actions && (
          <>
            {canEdit && (
              <IconButton words="Edit and send again" Icon={Pencil} onClick={() => actions.edit?.(turnId, text)} />
            )}
            <IconButton
              words="Fork before this message"
              Icon={GitFork}
              disabled={seq <= 1}
              onClick={() => actions.fork(seq - 1)}
            />
          </>
        )
      }
    >
      {each(parts, (part) => (part.type === 'text' ? <Markdown text={part.text} /> : <FilePart part={part} />))}
      {leftOut !== undefined && <MoreInLog words={`${byteSize(leftOut)} are not shown.`} seq={seq} />}
    </MessageFrame>
  )
}
