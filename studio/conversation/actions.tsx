import { Download, Ellipsis, GitFork, Link2, Pause, Pencil, Trash2 } from 'lucide-react'
import type { RemoteRecord, View } from 'perdure/client'
import { type UsedConversation, useClient } from 'perdure/react'
import { type ComponentType, useId, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { addresses } from '../addresses.ts'
import { Confirm } from '../parts/confirm.tsx'
import { errorWords } from '../parts/error-words.ts'
import { useReadOnly } from '../parts/read-only.ts'
import { oneLine } from '../parts/shown-text.ts'
import { exportConversation } from './export-conversation.ts'
import { ForkDialog } from './fork-dialog.tsx'
import { PauseDialog } from './paused-line.tsx'

type ActionsProps = {
  readonly conversation: UsedConversation
  readonly view: View
  readonly record: RemoteRecord | null
  /** Reads the record again. */
  readonly again: () => Promise<void>
  readonly isReadOnly: boolean
  onRename(): void
}

/** Rename, fork, export, copy the link, pause, delete. */
export function Actions({ conversation, view, record, again, isReadOnly, onRename }: ActionsProps) {
  const menu = useRef<HTMLDivElement>(null)
  const name = useId()
  const [dialog, setDialog] = useState<'fork' | 'pause' | 'delete' | null>(null)
  const [words, setWords] = useState<string | null>(null)
  const [, navigate] = useLocation()
  const client = useClient()
  const isFile = useReadOnly()
  const choose = (act: () => void) => () => {
    menu.current?.hidePopover()
    act()
  }
  const copy = (): void => {
    navigator.clipboard.writeText(location.href).then(
      () => say('Link copied'),
      () => say('The link could not be copied'),
    )
  }
  const say = (what: string): void => {
    setWords(what)
    setTimeout(() => setWords(null), 2_000)
  }
  const download = (): void => {
    setWords('Exporting…')
    exportConversation(client, conversation.id).then(
      (count) => say(`${count.toLocaleString()} events exported`),
      (error: unknown) => say(errorWords(error)),
    )
  }
  return (
    <div className="relative flex items-center gap-2">
      <span role="status" className="max-w-60 truncate text-soft max-md:hidden">
        {words}
      </span>
      <button
        type="button"
        popoverTarget={name}
        title="More"
        aria-label="More"
        className="grid size-8 place-items-center rounded-(--radius) text-soft hover:bg-hover hover:text-text max-md:size-11 [anchor-name:--more]"
      >
        <Ellipsis className="size-4" aria-hidden />
      </button>
      <div
        ref={menu}
        id={name}
        popover="auto"
        className="menu m-0 min-w-48 flex-col rounded-(--radius) border bg-raised p-1 text-text shadow-lg [position-anchor:--more] [position-area:bottom_span-left] [&:popover-open]:flex"
      >
        {!isReadOnly && <Choice Icon={Pencil} words="Rename" onClick={choose(onRename)} />}
        {!isFile && <Choice Icon={GitFork} words="Fork" onClick={choose(() => setDialog('fork'))} />}
        <Choice Icon={Link2} words="Copy link" onClick={choose(copy)} />
        <Choice Icon={Download} words="Export" onClick={choose(download)} />
        {!isReadOnly && record?.tenant !== undefined && !record.paused && (
          <Choice Icon={Pause} words="Pause…" onClick={choose(() => setDialog('pause'))} />
        )}
        {!isReadOnly && (
          <Choice Icon={Trash2} words="Delete…" isDangerous onClick={choose(() => setDialog('delete'))} />
        )}
      </div>
      {dialog === 'fork' && <ForkDialog conversation={conversation} at={view.seq} onClose={() => setDialog(null)} />}
      {dialog === 'pause' && record?.tenant !== undefined && (
        <PauseDialog id={record.id} tenant={record.tenant} again={again} onClose={() => setDialog(null)} />
      )}
      {dialog === 'delete' && (
        <Confirm
          title="Delete this conversation?"
          action="Delete"
          isDangerous
          typed={conversation.id}
          onConfirm={async () => {
            await conversation.delete()
            navigate(addresses.conversations(), { replace: true })
          }}
          onClose={() => setDialog(null)}
        >
          <p className="text-soft">
            {oneLine(view.title ?? conversation.id, 120)}, its {view.seq.toLocaleString()} events, its files and its
            child agents are removed for good. Forks of it stay.
          </p>
        </Confirm>
      )}
    </div>
  )
}

type ChoiceProps = {
  readonly Icon: ComponentType<{ className?: string }>
  readonly words: string
  readonly isDangerous?: boolean
  onClick(): void
}

function Choice({ Icon, words, isDangerous = false, onClick }: ChoiceProps) {
  return (
    <button
      type="button"
      className={`flex min-h-8 items-center gap-2 rounded-(--radius) px-2 text-left hover:bg-hover max-md:min-h-11 ${isDangerous ? 'text-failed' : ''}`}
      onClick={onClick}
    >
      <Icon className="size-3.5 shrink-0" />
      {words}
    </button>
  )
}
