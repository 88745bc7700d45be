import { Braces } from 'lucide-react'
import type { Json, JsonObject } from 'perdure/client'
import { useCallback, useMemo, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { type Field, fieldsOf, fieldsOfValue } from '../parts/schema-form/fields.ts'
import { RawJson } from '../parts/schema-form/raw-json.tsx'
import { SchemaForm } from '../parts/schema-form/schema-form.tsx'
import { useForm } from '../parts/schema-form/use-form.ts'
import type { Key } from '../shell/keys.ts'
import { Actions } from './actions.tsx'
import { DenyDialog } from './deny-dialog.tsx'
import type { AskProps } from './item-detail.tsx'
import { useLatestKeys } from './use-latest-keys.ts'

/** May the call run? With the model's arguments, or with others. */
export function Approval({ item, isDisabled, isSending, hint, send, isHeld }: AskProps) {
  const argsSchema = item.kind === 'approval' ? item.argsSchema : undefined
  const field = useMemo(() => argsFields(argsSchema, item.args), [argsSchema, item.args])
  const form = useForm(field, item.args)
  const [isRaw, setRaw] = useState(false)
  const [isDenying, setDenying] = useState(false)
  const [hasTried, setTried] = useState(false)
  const { value, isChanged, problems } = form
  const approve = (): void => {
    setTried(true)
    // What the model asked for was checked when it asked; only a change must fit.
    if (isChanged && problems.length > 0) return
    send(isChanged ? { approve: true, args: value } : { approve: true })
  }
  const toggleRaw = (): void => {
    if (form.raw?.problem) return
    form.setRaw(null)
    setRaw(!isRaw)
  }
  const close = useCallback(() => setDenying(false), [])
  const keys: Key[] = isDisabled
    ? []
    : [
        { key: 'a', does: 'Approve', run: () => approve() },
        { key: 'd', does: 'Deny, with a reason', run: () => isHeld() || setDenying(true) },
        { key: 'r', does: 'Arguments as JSON, or as a form', run: () => toggleRaw() },
      ]
  useLatestKeys(keys)
  return (
    <>
      <form
        className="flex min-w-0 grow flex-col gap-4"
        onSubmit={(event) => event.preventDefault()}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) approve()
        }}
      >
        {isRaw ? (
          <RawJson form={form} label="Arguments" isDisabled={isDisabled} />
        ) : (
          <SchemaForm
            form={form}
            label="Arguments"
            showsChanges
            showsProblems={hasTried && isChanged}
            isDisabled={isDisabled}
          />
        )}
        <Actions
          hint={hint ?? (hasTried && isChanged && problems.length > 0 ? 'Not sent: some fields do not fit.' : null)}
        >
          <Button kind="main" shortcut="A" disabled={isDisabled} onClick={approve}>
            {isSending ? 'Sending…' : isChanged ? 'Approve with changes' : 'Approve'}
          </Button>
          <Button shortcut="D" disabled={isDisabled} onClick={() => setDenying(true)}>
            Deny…
          </Button>
          {isChanged && !isDisabled && (
            <Button kind="quiet" className="quiet" onClick={form.reset}>
              Take changes back
            </Button>
          )}
          <Button
            kind="quiet"
            shortcut="R"
            className="quiet md:ml-auto"
            aria-pressed={isRaw}
            onClick={toggleRaw}
            title="Arguments as JSON"
          >
            <Braces className="size-4" aria-hidden />
            <span className="max-md:sr-only">JSON</span>
          </Button>
        </Actions>
      </form>
      {isDenying && (
        <DenyDialog
          onClose={close}
          onDeny={(reason) => {
            setDenying(false)
            send(reason === '' ? { approve: false } : { approve: false, reason })
          }}
        />
      )}
    </>
  )
}

/** A schema that says little of its members, as a record does, is less help than the members themselves. */
function argsFields(schema: JsonObject | undefined, args: Json): Field {
  const field = fieldsOf(schema)
  return field.kind === 'json' ? fieldsOfValue(args) : field
}
