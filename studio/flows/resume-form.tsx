import { Braces } from 'lucide-react'
import type { Json, RemoteFlowStatus } from 'perdure/client'
import { useId, useMemo, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { errorWords } from '../parts/error-words.ts'
import { JsonView } from '../parts/json.tsx'
import { fieldsOf } from '../parts/schema-form/fields.ts'
import { RawJson } from '../parts/schema-form/raw-json.tsx'
import { SchemaForm } from '../parts/schema-form/schema-form.tsx'
import { useForm } from '../parts/schema-form/use-form.ts'
import { emptyValue } from '../parts/schema-form/values.ts'
import { oneLine } from '../parts/shown-text.ts'
import { AgoWords } from '../parts/time.tsx'
import { tagDetails, tagWords } from './step-words.ts'

export type Question = RemoteFlowStatus['suspensions'][number]

export type ResumeFormProps = {
  readonly question: Question
  /** Durable when it resolves. */
  readonly onAnswer: (value: Json) => Promise<unknown>
}

/** A question of a session and the form for its answer. Give it a `key` of the question. */
export function ResumeForm({ question, onAnswer }: ResumeFormProps) {
  const field = useMemo(() => fieldsOf(question.schema), [question.schema])
  const form = useForm(
    field,
    useMemo(() => emptyValue(field), [field]),
  )
  const [isRaw, setRaw] = useState(false)
  const [hasTried, setTried] = useState(false)
  const [sending, setSending] = useState<'no' | 'now' | { readonly error: string }>('no')
  const title = useId()
  const isSending = sending === 'now'
  const details = tagDetails(question.tag)
  const submit = (): void => {
    setTried(true)
    const { value, problems } = form
    if (value === undefined || problems.length > 0) return
    setSending('now')
    onAnswer(value).then(
      () => setSending('no'),
      (error: unknown) => setSending({ error: errorWords(error) }),
    )
  }
  return (
    <form
      noValidate
      aria-labelledby={title}
      className="flex flex-col gap-3 border-b border-l-2 border-l-waiting py-3 pr-4 pl-3.5"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <div className="flex flex-wrap items-baseline gap-x-3">
        <h2 id={title} className="font-medium">
          {oneLine(tagWords(question.tag))}
        </h2>
        <span className="text-soft">
          asked <AgoWords at={question.at} />
        </span>
      </div>
      {details !== null && <JsonView value={details} />}
      {question.leftOut !== undefined && (
        <p className="text-soft">A part of it is left out. Event {question.seq} has all of it.</p>
      )}
      <div className="max-w-130">
        {isRaw ? (
          <RawJson form={form} label="Answer" isDisabled={isSending} />
        ) : (
          <SchemaForm form={form} label="Answer" showsProblems={hasTried} isDisabled={isSending} />
        )}
      </div>
      <p role="alert" className="text-failed empty:hidden">
        {typeof sending === 'object'
          ? sending.error
          : hasTried && form.problems.length > 0
            ? 'Not sent: some fields do not fit.'
            : ''}
      </p>
      <div className="flex gap-2">
        <Button type="submit" kind="main" disabled={isSending}>
          {isSending ? 'Sending…' : 'Resume'}
        </Button>
        {/* Without a schema the answer is JSON anyway. */}
        {field.kind !== 'json' && (
          <Button
            kind="quiet"
            aria-pressed={isRaw}
            onClick={() => {
              if (form.raw?.problem) return
              form.setRaw(null)
              setRaw(!isRaw)
            }}
          >
            <Braces className="size-4" aria-hidden />
            JSON
          </Button>
        )}
      </div>
    </form>
  )
}
