import { EyeOff, GitFork, Scissors, TriangleAlert } from 'lucide-react'
import type { ViewMessage, ViewPart } from 'perdure/client'
import type { ReactNode } from 'react'
import { CopyButton } from '../parts/copy-button.tsx'
import { IconButton } from '../parts/icon-button.tsx'
import { JsonView } from '../parts/json.tsx'
import { Markdown } from '../parts/markdown.tsx'
import { SafeLink } from '../parts/safe-link.tsx'
import { byteSize, oneLine } from '../parts/shown-text.ts'
import { FilePart } from './file-part.tsx'
import { MessageFrame } from './message-frame.tsx'
import { MoreInLog } from './more-in-log.tsx'
import { PlainCall, ProviderCall, ProviderResult } from './provider-call.tsx'
import { Reasoning } from './reasoning.tsx'
import { isOfMessage } from './rows.ts'
import { ToolCard } from './tool-card.tsx'
import { useTranscript } from './transcript-context.ts'

type ViewAssistantMessage = Extract<ViewMessage, { role: 'assistant' }>

/** What a model said, and the calls it made. */
export function AssistantMessage({ message, isContinued }: { message: ViewAssistantMessage; isContinued: boolean }) {
  const { agent, actions, event, calls } = useTranscript()
  const { seq, at, status, finishReason, parts, object, withheld, restored, leftOut } = message
  const marks = [...(restored ? ['restored'] : []), ...(status === 'complete' ? [] : [status])]
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n')
  return (
    <MessageFrame
      who={agent}
      seq={seq}
      at={at}
      marks={marks}
      isContinued={isContinued && marks.length === 0}
      isSelected={event !== null && isOfMessage(message, event, calls)}
      actions={
        <>
          {text !== '' && <CopyButton text={text} words="Copy the text" />}
          {actions && <IconButton words="Fork from here" Icon={GitFork} onClick={() => actions.fork(seq)} />}
        </>
      }
    >
      {withheld && (
        <Remark Icon={EyeOff}>
          Withheld: the hook <code>{oneLine(withheld.hook, 80)}</code> did not pass this message.
        </Remark>
      )}
      {parts.map((part, index) => (
        <Part key={part.type === 'call' ? part.callId : `${seq}-${index + 1}`} part={part} />
      ))}
      {object !== undefined && <JsonView value={object} />}
      {cutWords[finishReason] && <Remark Icon={Scissors}>{cutWords[finishReason]}</Remark>}
      {status === 'failed' && <Remark Icon={TriangleAlert}>The answer broke off here.</Remark>}
      {leftOut !== undefined && <MoreInLog words={`${byteSize(leftOut)} are not shown.`} seq={seq} />}
    </MessageFrame>
  )
}

const cutWords: Readonly<Record<string, string>> = {
  length: 'Cut off at its length limit.',
  'content-filter': "Cut off by the provider's content filter.",
}

function Part({ part }: { part: ViewPart }): ReactNode {
  switch (part.type) {
    case 'text':
      return <Markdown text={part.text} />
    case 'reasoning':
      return <Reasoning text={part.text} />
    case 'file':
      return <FilePart part={part} />
    case 'call':
      return <ToolCard call={part} />
    case 'plain_call':
      return <PlainCall part={part} />
    case 'provider_call':
      return <ProviderCall part={part} />
    case 'provider_result':
      return <ProviderResult part={part} />
    case 'source':
      return <Source source={part.source} />
  }
}

function Source({ source }: { source: Extract<ViewPart, { type: 'source' }>['source'] }) {
  const { url, title } = source
  const words = oneLine(typeof title === 'string' ? title : typeof url === 'string' ? url : 'a document', 120)
  return (
    <p className="text-soft text-xs">
      Source: {typeof url === 'string' ? <SafeLink href={url}>{words}</SafeLink> : words}
    </p>
  )
}

function Remark({ Icon, children }: { Icon: typeof EyeOff; children: ReactNode }) {
  return (
    <p className="flex items-start gap-2 text-soft">
      <Icon className="mt-0.5 size-3.5 shrink-0" aria-hidden />
      <span>{children}</span>
    </p>
  )
}
