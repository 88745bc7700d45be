import { type ReactNode, useId, useRef, useState } from 'react'
import { Button } from './button.tsx'
import { errorWords } from './error-words.ts'
import { shownText } from './shown-text.ts'
import { useModal } from './use-modal.ts'

export type ConfirmProps = {
  readonly title: string
  readonly children?: ReactNode
  /** What the button says. */
  readonly action: string
  readonly isDangerous?: boolean
  /** What must be typed before the button works. */
  readonly typed?: string
  /** The dialog stays, with the error, when it rejects. */
  onConfirm(): Promise<unknown>
  onClose(): void
}

/** Asks before something is done. Shown as long as it is rendered; Escape closes it. */
export function Confirm({ title, children, action, isDangerous = false, typed, onConfirm, onClose }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [state, setState] = useState<{ isSending: boolean; error: unknown }>({ isSending: false, error: null })
  const name = useId()
  useModal(dialog)
  // What turns text around or has no width is typed as it is shown.
  const shown = typed === undefined ? '' : shownText(typed)
  const isReady = typed === undefined || text === typed || text === shown
  const confirm = (): void => {
    if (!isReady || state.isSending) return
    setState({ isSending: true, error: null })
    onConfirm().then(onClose, (error: unknown) => setState({ isSending: false, error }))
  }
  return (
    <dialog
      ref={dialog}
      aria-labelledby={name}
      className="w-110 max-w-[calc(100vw-32px)] rounded-(--radius) border bg-raised p-4 text-text shadow-lg backdrop:bg-black/30"
      onClose={onClose}
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          confirm()
        }}
      >
        <h2 id={name} className="text-base font-medium">
          {title}
        </h2>
        {children}
        {typed !== undefined && (
          <label className="flex flex-col gap-1 text-soft">
            <span>
              Type <code className="text-text select-all">{shown}</code> to confirm
            </span>
            <input
              value={text}
              autoComplete="off"
              spellCheck={false}
              className="min-h-8 rounded-(--radius) border bg-panel px-2 text-text max-md:min-h-11"
              onChange={(event) => setText(event.currentTarget.value)}
            />
          </label>
        )}
        {state.error !== null && (
          <p role="alert" className="text-failed">
            {errorWords(state.error)}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={() => dialog.current?.close()}>Cancel</Button>
          <Button type="submit" kind={isDangerous ? 'danger' : 'main'} disabled={!isReady || state.isSending}>
            {state.isSending ? 'Sending…' : action}
          </Button>
        </div>
      </form>
    </dialog>
  )
}
