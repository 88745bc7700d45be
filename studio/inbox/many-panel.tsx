import { ArrowLeft } from 'lucide-react'
import type { InboxItem, Json } from 'perdure/client'
import type { InboxAnswer } from 'perdure/react'
import { useCallback, useMemo, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { fieldsOf } from '../parts/schema-form/fields.ts'
import { SchemaForm } from '../parts/schema-form/schema-form.tsx'
import { useForm } from '../parts/schema-form/use-form.ts'
import { emptyValue, isSame } from '../parts/schema-form/values.ts'
import { visible } from '../parts/visible.ts'
import type { Key } from '../shell/keys.ts'
import { Actions } from './actions.tsx'
import { DenyDialog } from './deny-dialog.tsx'
import { agentOf } from './filter.ts'
import { keyOf, versionOf } from './item-key.ts'
import { useItemContext } from './use-context.ts'
import { useLatestKeys } from './use-latest-keys.ts'
import { useSafeHand } from './use-safe-hand.ts'
import { headline } from './words.ts'

export type ManyPanelProps = {
  readonly items: readonly InboxItem[]
  readonly onAnswer: (items: readonly InboxItem[], given: InboxAnswer) => void
  readonly onClear: () => void
  /** To the list, with the selection as it is. */
  readonly onBack: () => void
}

/** One answer to everything that is selected. */
export function ManyPanel({ items, onAnswer, onClear, onBack }: ManyPanelProps) {
  const approvals = items.filter(({ kind }) => kind === 'approval')
  const version = useMemo(() => items.map(versionOf).sort().join('\n'), [items])
  const place = useMemo(() => items.map(keyOf).sort().join('\n'), [items])
  const hand = useSafeHand(place, version)
  const [hint, setHint] = useState<string | null>(null)
  const [isDenying, setDenying] = useState(false)
  const close = useCallback(() => setDenying(false), [])
  const isHeld = (): boolean => {
    const words = hand.held(version)
    setHint(words)
    return words !== null
  }
  const send = (to: readonly InboxItem[], given: InboxAnswer): void => {
    if (!isHeld()) onAnswer(to, given)
  }
  const isEmpty = approvals.length === 0
  const keys: Key[] =
    isEmpty || hand.isChanged
      ? []
      : [
          { key: 'a', does: 'Approve all that are selected', run: () => send(approvals, { approve: true }) },
          { key: 'd', does: 'Deny all that are selected', run: () => isHeld() || setDenying(true) },
        ]
  useLatestKeys(keys)
  const schema = useSharedSchema(items)
  return (
    <div className="flex h-full min-w-0 flex-col overflow-y-auto">
      <header className="flex min-h-12 shrink-0 items-center gap-2 border-b px-5 max-md:px-3">
        <button
          type="button"
          aria-label="Back to the list"
          className="-ml-1 grid size-11 place-items-center md:hidden"
          onClick={onBack}
        >
          <ArrowLeft className="size-5" aria-hidden />
        </button>
        <h2 className="text-base font-medium">{items.length.toLocaleString()} selected</h2>
        <Button kind="quiet" className="ml-auto max-md:hidden" shortcut="Esc" onClick={onClear}>
          Clear
        </Button>
      </header>
      <div className="flex w-full max-w-180 min-w-0 grow flex-col gap-4 p-5 max-md:p-4">
        <Kinds items={items} />
        {hand.isChanged && (
          <div role="alert" className="flex flex-wrap items-center gap-3 rounded-(--radius) bg-waiting-soft px-3 py-2">
            <span className="min-w-0 grow basis-60">One of them changed while you were looking.</span>
            <Button onClick={hand.confirm}>I have seen it</Button>
          </div>
        )}
        {schema !== null && (
          <SharedAnswer
            key={place}
            schema={schema}
            isDisabled={hand.isChanged}
            hint={hint}
            onSend={(value) => send(items, { value })}
          />
        )}
        {schema === null && (
          <Actions hint={hint} isOneOfMany>
            {approvals.length > 0 ? (
              <>
                <Button
                  kind="main"
                  shortcut="A"
                  disabled={hand.isChanged}
                  onClick={() => send(approvals, { approve: true })}
                >
                  Approve {approvals.length.toLocaleString()}
                </Button>
                <Button shortcut="D" disabled={hand.isChanged} onClick={() => setDenying(true)}>
                  Deny {approvals.length.toLocaleString()}…
                </Button>
              </>
            ) : (
              <p className="text-soft">These are different questions: open them one by one.</p>
            )}
            {approvals.length > 0 && approvals.length < items.length && (
              <p className="w-full text-soft">
                {(items.length - approvals.length).toLocaleString()} of them are questions and stay as they are.
              </p>
            )}
          </Actions>
        )}
      </div>
      {isDenying && (
        <DenyDialog
          count={approvals.length}
          onClose={close}
          onDeny={(reason) => {
            setDenying(false)
            send(approvals, reason === '' ? { approve: false } : { approve: false, reason })
          }}
        />
      )}
    </div>
  )
}

/**
 * Questions of sessions with the same schema, or of one human tool of one agent, can have the same answer. Items of calls have no schema: that of the first is read,
 * and the server checks each answer by its own.
 */
function useSharedSchema(items: readonly InboxItem[]): Json | null {
  const context = useItemContext(items[0]!)
  const ofTool = context.pending?.schema ?? null
  return useMemo(() => {
    const [first] = items
    if (first?.kind === 'elicitation') {
      const isOne = items.every(
        ({ kind, agent, tool }) => kind === first.kind && agent === first.agent && tool === first.tool,
      )
      return isOne ? ofTool : null
    }
    if (first?.kind !== 'flow') return null
    const isShared = items.every(
      (item) => item.kind === 'flow' && item.flow === first.flow && isSame(item.schema, first.schema),
    )
    return isShared ? first.schema : null
  }, [items, ofTool])
}

type SharedProps = { schema: Json; isDisabled: boolean; hint: string | null; onSend: (value: Json) => void }

function SharedAnswer({ schema, isDisabled, hint, onSend }: SharedProps) {
  const field = useMemo(() => fieldsOf(schema), [schema])
  const form = useForm(
    field,
    useMemo(() => emptyValue(field), [field]),
  )
  const [hasTried, setTried] = useState(false)
  return (
    <form
      noValidate
      className="flex min-w-0 grow flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        setTried(true)
        if (form.value !== undefined && form.problems.length === 0) onSend(form.value)
      }}
    >
      <SchemaForm form={form} label="Answer" showsProblems={hasTried} isDisabled={isDisabled} />
      <Actions hint={hint} isOneOfMany>
        <Button kind="main" type="submit" disabled={isDisabled}>
          Send to all
        </Button>
      </Actions>
    </form>
  )
}

/** What they are, with the first of each kind. */
function Kinds({ items }: { items: readonly InboxItem[] }) {
  const groups = Map.groupBy(items, (item) => `${agentOf(item)} · ${item.tool}`)
  return (
    <ul className="flex flex-col gap-3">
      {[...groups].slice(0, 12).map(([name, group]) => (
        <li key={name} className="min-w-0">
          <p className="text-soft">
            {group.length.toLocaleString()} × {visible(name, 100)}
          </p>
          {group.slice(0, 4).map((item) => (
            <p key={keyOf(item)} className="truncate">
              {headline(item)}
            </p>
          ))}
          {group.length > 4 && <p className="text-faint">and {(group.length - 4).toLocaleString()} more</p>}
          <RanBefore count={group.filter(({ doneBefore }) => doneBefore).length} />
        </li>
      ))}
    </ul>
  )
}

/** What one answer to all would do once more. */
function RanBefore({ count }: { count: number }) {
  if (count === 0) return null
  return (
    <p className="text-waiting">
      {count.toLocaleString()} of them ran before, in an earlier variant of the turn: open {count === 1 ? 'it' : 'them'}{' '}
      to see.
    </p>
  )
}
