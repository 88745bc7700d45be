import { ArrowUp, X } from 'lucide-react'
import type { RemoteSendOptions } from 'perdure/client'
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { codeOf, errorWords } from '../parts/error-words.ts'
import { IconButton } from '../parts/icon-button.tsx'
import { keepDraft, keptDraft } from './kept-draft.ts'

type WhenBusy = NonNullable<RemoteSendOptions['whenBusy']>

/** The message that a text takes the place of. */
export type Edited = { readonly turnId: string; readonly text: string }

type ComposerProps = {
  readonly id: string
  readonly isBusy: boolean
  /** Why nothing can be sent; null when something can. */
  readonly refusal: string | null
  readonly edited: Edited | null
  onEdited(edited: Edited | null): void
  send(text: string, options: RemoteSendOptions): Promise<unknown>
}

const choices: readonly (readonly [WhenBusy, string])[] = [
  ['queue', 'after this turn'],
  ['steer', 'into this turn'],
  ['interrupt', 'instead of this turn'],
  ['reject', 'only when idle'],
]

/** Where a message is written. The text stays until it is durable, also over a reload and an error. */
export function Composer({ id, isBusy, refusal, edited, onEdited, send }: ComposerProps) {
  const [text, setText] = useState(() => keptDraft(id))
  const [whenBusy, setWhenBusy] = useState<WhenBusy>('queue')
  const [state, setState] = useState<{ isSending: boolean; error: unknown }>({ isSending: false, error: null })
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => keepDraft(id, text), [id, text])
  useEffect(() => {
    if (!edited) return
    setText(edited.text)
    field.current?.focus()
  }, [edited])
  const leaveEdit = (): void => {
    onEdited(null)
    setText('')
  }
  const submit = (force = false): void => {
    if (text.trim() === '' || state.isSending || refusal) return
    setState({ isSending: true, error: null })
    const options: RemoteSendOptions = edited ? { replaces: edited.turnId, ...(force ? { force } : {}) } : { whenBusy }
    send(text, options).then(
      () => {
        setText('')
        onEdited(null)
        setState({ isSending: false, error: null })
      },
      (error: unknown) => setState({ isSending: false, error }),
    )
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') field.current?.blur()
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    submit()
  }
  return (
    <form
      aria-label="Send a message"
      className="mx-auto flex w-full max-w-187 shrink-0 flex-col gap-1 px-4 pb-3"
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        submit()
      }}
    >
      {edited && (
        <p className="flex items-center gap-2 text-soft">
          This takes the place of an earlier message, with all after it.
          <IconButton words="Stop editing" Icon={X} onClick={leaveEdit} />
        </p>
      )}
      {state.error !== null && (
        <p role="alert" className="text-failed">
          Not sent. {errorWords(state.error)}{' '}
          {codeOf(state.error) === 'force_needed' && (
            <Button kind="danger" onClick={() => submit(true)}>
              Send anyway
            </Button>
          )}
        </p>
      )}
      <div className="flex items-end gap-2 rounded-(--radius) border bg-panel p-1 focus-within:border-accent">
        <textarea
          ref={field}
          aria-label="Message"
          rows={1}
          dir="auto"
          value={text}
          disabled={refusal !== null}
          readOnly={state.isSending}
          placeholder={refusal ?? 'Message'}
          className="max-h-60 min-h-8 min-w-0 grow resize-none bg-transparent px-2 py-1.5 outline-none [field-sizing:content] placeholder:text-faint max-md:min-h-11 max-md:py-2.5 max-md:text-base"
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        {isBusy && !edited && refusal === null && (
          <select
            aria-label="While a turn is open, send"
            value={whenBusy}
            className="min-h-8 shrink-0 [field-sizing:content] rounded-(--radius) bg-transparent text-soft max-md:min-h-11 max-md:max-w-28"
            onChange={(event) => setWhenBusy(event.currentTarget.value as WhenBusy)}
          >
            {choices.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        )}
        <Button
          type="submit"
          kind="main"
          className="shrink-0 whitespace-nowrap"
          title="Send (Ctrl+Enter)"
          disabled={text.trim() === '' || state.isSending || refusal !== null}
        >
          {state.isSending ? (
            'Sending…'
          ) : (
            <>
              <ArrowUp className="size-3.5" aria-hidden /> Send
            </>
          )}
        </Button>
      </div>
    </form>
  )
}
