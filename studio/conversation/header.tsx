import { ArrowLeft, CircleStop, PanelRight } from 'lucide-react'
import type { RemoteRecord, View } from 'perdure/client'
import type { UsedConversation } from 'perdure/react'
import { useState } from 'react'
import { Link } from 'wouter'
import { addresses } from '../addresses.ts'
import { Button } from '../parts/button.tsx'
import { IconButton } from '../parts/icon-button.tsx'
import { Id } from '../parts/id.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { Status } from '../parts/status.tsx'
import { Actions } from './actions.tsx'
import { Title } from './title.tsx'

type HeaderProps = {
  readonly conversation: UsedConversation
  readonly view: View
  /** That of the moment which is shown; null while it is read. */
  readonly phase: View['phase'] | null
  readonly record: RemoteRecord | null
  /** Whether a past moment is shown, or the conversation can only be read. */
  readonly isReadOnly: boolean
  readonly hasInspector: boolean
  /** Reads the record again. */
  readonly again: () => Promise<void>
  onInspector(): void
}

/** What the conversation is, and what can be done with it as a whole. */
export function Header(props: HeaderProps) {
  const { conversation, view, phase, record, isReadOnly, hasInspector, again, onInspector } = props
  const [isRenaming, setRenaming] = useState(false)
  const isOpen = view.phase === 'running' || view.phase === 'waiting'
  return (
    <header className="flex min-h-12 shrink-0 items-center gap-3 border-b px-4 max-md:gap-2 max-md:px-2">
      <Link
        href={addresses.conversations()}
        aria-label="All conversations"
        title="All conversations"
        className="grid size-11 shrink-0 place-items-center rounded-(--radius) text-soft md:hidden"
      >
        <ArrowLeft className="size-4" aria-hidden />
      </Link>
      <Title
        id={conversation.id}
        title={view.title}
        rename={isReadOnly ? null : conversation.rename}
        isEditing={isRenaming}
        onEdit={setRenaming}
      />
      {phase && <Status status={phase} />}
      {record && (
        <span className="flex min-w-0 items-center gap-3 text-soft max-lg:hidden">
          {record.agent && <span className="truncate">{oneLine(record.agent, 60)}</span>}
          {record.owner && <bdi className="truncate">{oneLine(record.owner, 60)}</bdi>}
        </span>
      )}
      {view.title !== null && (
        <span className="shrink-0 max-xl:hidden">
          <Id id={conversation.id} />
        </span>
      )}
      <span className="grow" />
      {isOpen && !isReadOnly && <CancelButton conversation={conversation} />}
      <Actions
        conversation={conversation}
        view={view}
        record={record}
        again={again}
        isReadOnly={isReadOnly}
        onRename={() => setRenaming(true)}
      />
      <IconButton
        words={hasInspector ? 'Hide the inspector' : 'Show the inspector'}
        Icon={PanelRight}
        aria-pressed={hasInspector}
        onClick={onInspector}
      />
    </header>
  )
}

const cancelWords = { idle: 'Cancel', sending: 'Cancelling…', failed: 'Not cancelled. Try again' }

function CancelButton({ conversation }: { conversation: UsedConversation }) {
  const [state, setState] = useState<'idle' | 'sending' | 'failed'>('idle')
  return (
    <Button
      className="shrink-0 whitespace-nowrap max-md:border-transparent"
      disabled={state === 'sending'}
      title="End the turn that is open"
      onClick={() => {
        setState('sending')
        conversation.cancel().then(
          () => setState('idle'),
          () => setState('failed'),
        )
      }}
    >
      <CircleStop className="size-3.5" aria-hidden />
      <span className="max-md:sr-only">{cancelWords[state]}</span>
    </Button>
  )
}
