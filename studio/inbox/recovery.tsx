import { useId, useMemo, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { TextInput } from '../parts/schema-form/inputs.tsx'
import { jsonText, parseJson } from '../parts/schema-form/values.ts'
import { visible } from '../parts/visible.ts'
import { Actions } from './actions.tsx'
import type { AskProps } from './item-detail.tsx'

/** A call that was interrupted, and that may or may not have taken effect. */
export function Recovery({ item, isDisabled, isSending, hint, send }: AskProps) {
  const [text, setText] = useState<string | null>(null)
  const parsed = useMemo(() => (text === null ? null : parseJson(text)), [text])
  const id = useId()
  return (
    <div className="flex min-w-0 grow flex-col gap-4">
      <p className="text-soft">
        It was started and did not come to its end. Find out whether it took effect; only then decide.
      </p>
      <pre className="max-h-60 overflow-auto rounded-(--radius) border p-2 whitespace-pre-wrap">
        {visible(jsonText(item.args), 5_000)}
      </pre>
      {text !== null && (
        <div>
          <label htmlFor={id} className="mb-1 block text-soft">
            What it returned, as JSON
          </label>
          <TextInput
            id={id}
            value={text}
            isCode
            isLong
            isWrong={parsed?.ok === false && text !== ''}
            describedBy={undefined}
            isDisabled={isDisabled}
            onText={setText}
          />
          {parsed?.ok === false && text !== '' && <p className="mt-1 text-xs text-failed">{parsed.problem}</p>}
        </div>
      )}
      <Actions hint={hint}>
        {text === null ? (
          <>
            <Button kind="main" disabled={isDisabled} onClick={() => send({ value: 'report' })}>
              {isSending ? 'Sending…' : 'Tell the model that it is unknown'}
            </Button>
            <Button disabled={isDisabled} onClick={() => send({ value: 'rerun' })}>
              Run it again
            </Button>
            <Button disabled={isDisabled} onClick={() => setText('')}>
              Give its result…
            </Button>
          </>
        ) : (
          <>
            <Button
              kind="main"
              disabled={isDisabled || !parsed?.ok}
              onClick={() => parsed?.ok && send({ value: { result: parsed.value } })}
            >
              {isSending ? 'Sending…' : 'Send the result'}
            </Button>
            <Button onClick={() => setText(null)}>Back</Button>
          </>
        )}
      </Actions>
    </div>
  )
}
