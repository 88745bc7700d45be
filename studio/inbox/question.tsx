import { Braces } from 'lucide-react'
import type { Json } from 'perdure/client'
import { useEffect, useMemo, useRef, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { fieldsOf } from '../parts/schema-form/fields.ts'
import { RawJson } from '../parts/schema-form/raw-json.tsx'
import { SchemaForm } from '../parts/schema-form/schema-form.tsx'
import { useForm } from '../parts/schema-form/use-form.ts'
import { emptyValue, isObject } from '../parts/schema-form/values.ts'
import { visible } from '../parts/visible.ts'
import type { Key } from '../shell/keys.ts'
import { Actions } from './actions.tsx'
import type { AskProps } from './item-detail.tsx'
import { useLatestKeys } from './use-latest-keys.ts'

/** A question of a tool, of a session, or a call that the page of a person should run: the answer is a value by its schema. */
export function Question({ item, isDisabled, isSending, hint, send, schema }: AskProps & { schema: Json }) {
  const isPage = item.kind === 'client_exec'
  const field = useMemo(() => fieldsOf(isPage ? resultIn(schema) : schema), [schema, isPage])
  const form = useForm(
    field,
    useMemo(() => emptyValue(field), [field]),
  )
  const [isRaw, setRaw] = useState(false)
  const [hasTried, setTried] = useState(false)
  const { value, problems } = form
  const isMissing = value === undefined
  const element = useRef<HTMLFormElement>(null)
  const submit = (): void => {
    setTried(true)
    if (isMissing || problems.length > 0) return
    send({ value: isPage ? { ok: true, result: value } : value })
  }
  const focusWrong = hasTried && problems.length > 0
  useEffect(() => {
    if (focusWrong) element.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [focusWrong])
  const toggleRaw = (): void => {
    if (form.raw?.problem) return
    form.setRaw(null)
    setRaw(!isRaw)
  }
  const keys: Key[] = isDisabled
    ? []
    : [
        {
          key: 'a',
          does: 'Begin to answer',
          run: () => element.current?.querySelector<HTMLElement>('input, textarea, select')?.focus(),
        },
        { key: 'r', does: 'Answer as JSON, or as a form', run: () => toggleRaw() },
      ]
  useLatestKeys(keys)
  return (
    <form
      ref={element}
      noValidate
      className="flex min-w-0 grow flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) submit()
        if (event.key === 'Escape') (event.target as HTMLElement).blur()
      }}
    >
      <Asked args={item.kind === 'flow' ? null : item.args} />
      {isPage && (
        <p className="text-soft">
          A page should run this. Answer for it only when you know what it would have returned.
        </p>
      )}
      {isRaw ? (
        <RawJson form={form} label="Answer" isDisabled={isDisabled} />
      ) : (
        <SchemaForm form={form} label="Answer" showsProblems={hasTried} isDisabled={isDisabled} />
      )}
      <Actions hint={hint ?? (hasTried && problems.length > 0 ? 'Not sent: some fields do not fit.' : null)}>
        <Button kind="main" type="submit" shortcut="Enter" disabled={isDisabled}>
          {isSending ? 'Sending…' : 'Send the answer'}
        </Button>
        {isPage && (
          <Button
            disabled={isDisabled}
            onClick={() => send({ value: { ok: false, error: 'A person ended the call: the page did not run it.' } })}
          >
            Report that it failed
          </Button>
        )}
        <Button
          kind="quiet"
          shortcut="R"
          className="quiet md:ml-auto"
          aria-pressed={isRaw}
          onClick={toggleRaw}
          title="Answer as JSON"
        >
          <Braces className="size-4" aria-hidden />
          <span className="max-md:sr-only">JSON</span>
        </Button>
      </Actions>
    </form>
  )
}

/** What the question came with. */
export function Asked({ args }: { args: Json }) {
  if (!isObject(args)) return null
  const members = Object.entries(args).slice(0, 30)
  if (members.length === 0) return null
  return (
    <dl className="grid min-w-0 grid-cols-[minmax(80px,132px)_minmax(0,1fr)] gap-x-3 gap-y-1">
      {members.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="font-mono text-xs text-soft">{visible(name, 80)}</dt>
          <dd className="line-clamp-6 min-w-0 whitespace-pre-wrap">
            {visible(typeof value === 'string' ? value : JSON.stringify(value), 1_000)}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** A page answers with a result or an error: the schema of the result alone. */
function resultIn(schema: Json): Json {
  if (!isObject(schema)) return null
  const forms = [schema['anyOf'], schema['oneOf']].find(Array.isArray) as readonly Json[] | undefined
  for (const form of forms ?? [schema]) {
    const members = isObject(form) ? form['properties'] : null
    if (isObject(members) && members['result'] !== undefined) return members['result']
  }
  return null
}
