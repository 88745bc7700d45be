import { ArrowLeft, TriangleAlert } from 'lucide-react'
import type { InboxItem } from 'perdure/client'
import type { InboxAnswer } from 'perdure/react'
import { useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../parts/button.tsx'
import { Id } from '../parts/id.tsx'
import { visible } from '../parts/visible.ts'
import { aboveActions } from './actions.tsx'
import { Approval } from './approval.tsx'
import { EndedLine, kinds } from './inbox-row.tsx'
import { versionOf } from './item-key.ts'
import { ItemSide } from './item-side.tsx'
import { Asked, Question } from './question.tsx'
import { Recovery } from './recovery.tsx'
import type { Ended } from './use-answers.ts'
import { useItemContext } from './use-context.ts'
import { useSafeHand } from './use-safe-hand.ts'
import { doneBeforeWords, headline, kindWords, promptLine } from './words.ts'

export type ItemDetailProps = {
  readonly item: InboxItem
  readonly ended: Ended | undefined
  readonly isOver: boolean
  readonly backTo: string
  readonly onAnswer: (item: InboxItem, given: InboxAnswer) => void
  readonly onNext: () => void
}

/** What every kind of question gets. `send` sends nothing the person had no time to see. */
export type AskProps = {
  readonly item: InboxItem
  readonly isDisabled: boolean
  readonly isSending: boolean
  readonly hint: string | null
  readonly send: (given: InboxAnswer) => void
  /** Whether it is too early for an answer; says so to the person. */
  readonly isHeld: () => boolean
}

/** One item: what is asked, what it was about, and the form of its answer. */
export function ItemDetail({ item, ended, isOver, backTo, onAnswer, onNext }: ItemDetailProps) {
  const version = versionOf(item)
  const hand = useSafeHand(item.callId, version)
  const context = useItemContext(item)
  const [held, setHeld] = useState<{ readonly version: string; readonly words: string } | null>(null)
  const outcome = ended?.outcome
  const isSending = outcome?.type === 'sending'
  const isEnded = isOver || outcome?.type === 'accepted' || outcome?.type === 'lost'
  const isHeld = (): boolean => {
    const words = hand.held(version)
    setHeld(words === null ? null : { version, words })
    return words !== null
  }
  const send = (given: InboxAnswer): void => {
    if (!isSending && !isEnded && !isHeld()) onAnswer(item, given)
  }
  const refusal = outcome?.type === 'failed' ? `Not sent: ${visible(outcome.message, 400)}` : null
  const ask: AskProps = {
    item,
    isDisabled: isSending || isEnded || hand.isChanged,
    isSending,
    hint: held?.version === version ? held.words : refusal,
    send,
    isHeld,
  }
  return (
    <div className={`flex h-full min-h-0 min-w-0 max-xl:flex-col max-xl:overflow-y-auto ${aboveActions}`}>
      <article
        aria-label={headline(item)}
        tabIndex={-1}
        className="flex outline-none min-w-0 grow flex-col max-md:grow-0 max-xl:shrink-0 xl:min-h-0 xl:overflow-y-auto"
      >
        <header className="flex min-h-12 shrink-0 items-center gap-2 border-b px-5 text-soft max-md:px-3">
          <Link
            href={backTo}
            aria-label="Back to the list"
            className="-ml-1 grid size-11 shrink-0 place-items-center md:hidden"
          >
            <ArrowLeft className="size-5" aria-hidden />
          </Link>
          <span className={`shrink-0 ${kinds[item.kind][1]}`}>{kindWords[item.kind]}</span>
          <span className="min-w-0 truncate font-mono text-xs">{visible(item.tool, 64)}</span>
          <span className="ml-auto shrink-0">
            <Id id={item.callId} />
          </span>
        </header>
        <div className="flex w-full max-w-180 min-w-0 grow flex-col gap-4 p-5 max-md:p-4">
          {/* A sentence is a heading in large type; a paragraph of it would push its form off a phone. */}
          <h2 className={`font-medium ${headline(item).length > 100 ? 'text-base' : 'text-lg'}`}>{headline(item)}</h2>
          <Prompt item={item} />
          <Warnings item={item} />
          {hand.isChanged && !isEnded && (
            <div
              role="alert"
              className="flex flex-wrap items-center gap-3 rounded-(--radius) bg-waiting-soft px-3 py-2"
            >
              <span className="min-w-0 grow basis-60">
                This changed while you were looking. It is shown as it is now.
              </span>
              <Button onClick={hand.confirm}>I have seen it</Button>
            </div>
          )}
          <Ask key={version} {...ask} context={context} />
          {isEnded && ended && (
            <div className="flex flex-wrap items-center gap-3 rounded-(--radius) bg-hover px-3 py-2">
              <EndedLine ended={ended} />
              <Button className="ml-auto" shortcut="J" onClick={onNext}>
                Next
              </Button>
            </div>
          )}
          {isEnded && !ended && (
            <p className="rounded-(--radius) bg-hover px-3 py-2 text-soft">This is no longer waiting.</p>
          )}
        </div>
      </article>
      <ItemSide item={item} context={context} isOver={isEnded} />
    </div>
  )
}

type AskedProps = AskProps & { readonly context: ReturnType<typeof useItemContext> }

function Ask({ context, ...ask }: AskedProps) {
  const { item } = ask
  if (item.kind === 'approval') return <Approval {...ask} />
  if (item.kind === 'recovery') return <Recovery {...ask} />
  if (item.kind === 'flow') return <Question {...ask} schema={item.schema} />
  if (context.status === 'loading') return <p className="text-faint">Loading the form…</p>
  if (context.status === 'failed')
    return (
      <p className="text-soft">
        The form could not be loaded: {visible(context.message ?? '', 200)}{' '}
        <button type="button" className="link" onClick={context.retry}>
          Try again
        </button>
      </p>
    )
  return <Question {...ask} schema={context.pending?.schema ?? null} />
}

/** A prompt that is more than the line above it. */
function Prompt({ item }: { item: InboxItem }) {
  const prompt = item.kind === 'flow' ? item.tag : item.prompt
  if (prompt === null || typeof prompt === 'string') {
    const text = typeof prompt === 'string' ? prompt : ''
    return text.length > 300 || text.includes('\n') ? (
      <p className="whitespace-pre-wrap">{visible(text, 5_000)}</p>
    ) : null
  }
  const line = promptLine(prompt)
  if (line !== null && !Array.isArray(prompt)) {
    const others = Object.entries(prompt).filter(([, value]) => value !== line)
    return <Asked args={Object.fromEntries(others)} />
  }
  const text = JSON.stringify(prompt, null, 2)
  return (
    <pre className="max-h-60 overflow-auto rounded-(--radius) border p-2 whitespace-pre-wrap">
      {visible(text, 5_000)}
    </pre>
  )
}

function Warnings({ item }: { item: InboxItem }) {
  const found = [
    item.quarantinedAt !== undefined &&
      'The conversation is quarantined: answers are kept, and it continues once an operator releases it.',
    item.agentMissing &&
      `This server does not have the code of ${item.kind === 'flow' ? 'the flow' : 'the agent'}. An answer is kept until one does.`,
    doneBeforeWords(item),
    item.path.length > 1 && 'A child agent asks.',
  ].filter((text) => typeof text === 'string')
  return found.map((text) => (
    <p key={text} className="flex items-start gap-2 text-soft">
      <TriangleAlert className="mt-0.5 size-4 shrink-0 text-waiting" aria-hidden />
      {text}
    </p>
  ))
}
