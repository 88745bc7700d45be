import { Pencil } from 'lucide-react'
import { useState } from 'react'
import { errorWords } from '../parts/error-words.ts'
import { IconButton } from '../parts/icon-button.tsx'
import { oneLine } from '../parts/shown-text.ts'

type Rename = (title: string | null) => Promise<void>

type TitleProps = {
  readonly id: string
  readonly title: string | null
  /** Null where it cannot be renamed. */
  readonly rename: Rename | null
  readonly isEditing: boolean
  onEdit(isEditing: boolean): void
}

/** The title, or the id where there is none. The pencil edits it; on a phone, the menu does. */
export function Title({ id, title, rename, isEditing, onEdit }: TitleProps) {
  if (isEditing && rename) return <EditTitle title={title} rename={rename} onDone={() => onEdit(false)} />
  return (
    <div className="flex min-w-0 items-center gap-1">
      <h1 className="truncate font-medium" title={oneLine(title ?? id, 400)}>
        <bdi>{oneLine(title ?? id, 200)}</bdi>
      </h1>
      {rename && <IconButton words="Rename" Icon={Pencil} className="max-md:hidden" onClick={() => onEdit(true)} />}
    </div>
  )
}

type EditTitleProps = { readonly title: string | null; readonly rename: Rename; onDone(): void }

/** Enter keeps, Escape leaves. */
function EditTitle({ title, rename, onDone }: EditTitleProps) {
  const [text, setText] = useState(title ?? '')
  const [state, setState] = useState<{ isSending: boolean; error: unknown }>({ isSending: false, error: null })
  const keep = (): void => {
    setState({ isSending: true, error: null })
    rename(text.trim() === '' ? null : text.trim()).then(onDone, (error: unknown) =>
      setState({ isSending: false, error }),
    )
  }
  return (
    <form
      className="flex min-w-0 grow items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        keep()
      }}
    >
      <input
        aria-label="Title"
        // The person asked to edit it.
        ref={(field) => field?.focus()}
        value={text}
        maxLength={200}
        readOnly={state.isSending}
        placeholder="Title; empty removes it"
        className="min-h-8 min-w-0 grow rounded-(--radius) border bg-panel px-2 max-md:min-h-11 max-md:text-base"
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onDone()
        }}
      />
      {state.isSending && <span className="text-faint">Sending…</span>}
      {state.error !== null && (
        <span role="alert" className="truncate text-failed">
          {errorWords(state.error)}
        </span>
      )}
    </form>
  )
}
