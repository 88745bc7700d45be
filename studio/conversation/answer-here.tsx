import { type Answered, argsDigest, type Json, type PendingItem } from 'perdure/client'
import { useClient } from 'perdure/react'
import { type ReactNode, useMemo, useState } from 'react'
import { DenyDialog } from '../inbox/deny-dialog.tsx'
import { useSafeHand } from '../inbox/use-safe-hand.ts'
import { doneBeforeWords } from '../inbox/words.ts'
import { Button } from '../parts/button.tsx'
import { errorWords } from '../parts/error-words.ts'
import { fieldsOf, fieldsOfValue } from '../parts/schema-form/fields.ts'
import { SchemaForm } from '../parts/schema-form/schema-form.tsx'
import { useForm } from '../parts/schema-form/use-form.ts'
import { emptyValue } from '../parts/schema-form/values.ts'
import { oneLine } from '../parts/shown-text.ts'
import { AgoWords } from '../parts/time.tsx'
import { ExtendSelect } from './extend-select.tsx'

type Sent = { readonly isSending: boolean; readonly words: ReactNode; readonly error: unknown }
const quiet: Sent = { isSending: false, words: null, error: null }

type AnswerHereProps = {
  readonly item: PendingItem
  /** Told who answered first. The call does not wait any more, and this form goes. */
  onLost(words: ReactNode): void
}

/** Answers a waiting call in the transcript. Sends nothing that the person had no time to see. */
export function AnswerHere({ item, onLost }: AnswerHereProps) {
  const conversation = useClient().conversation(item.conversationId)
  const [sent, setSent] = useState(quiet)
  const digest = useMemo(() => argsDigest(item.args), [item.args])
  const version = `${item.round} ${digest}`
  const hand = useSafeHand(item.callId, version)
  const run = (act: () => Promise<Answered | { readonly accepted: true }>): void => {
    const held = hand.held(version)
    if (held !== null) return setSent({ ...quiet, words: held })
    setSent({ ...quiet, isSending: true })
    act().then(
      (answered) => {
        setSent({ ...quiet, words: answered.accepted ? 'Sent.' : null })
        onLost(answered.accepted ? null : <CameFirst {...answered.resolution} isApproval={item.kind === 'approval'} />)
      },
      (error: unknown) => setSent({ ...quiet, error }),
    )
  }
  const ask = { item, isSending: sent.isSending }
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {item.doneBefore && <p className="text-waiting">{doneBeforeWords(item)}</p>}
      {item.kind === 'approval' ? (
        <Approve
          key={version}
          {...ask}
          onApprove={(args) =>
            run(() => conversation.approve(item, { digest, ...(args === undefined ? {} : { args }) }))
          }
          onDeny={(reason) => run(() => conversation.deny(item, { digest, ...(reason === '' ? {} : { reason }) }))}
        />
      ) : item.kind === 'recovery' ? (
        <Recover {...ask} onAnswer={(value) => run(() => conversation.answer(item, value, { digest }))} />
      ) : (
        <Reply key={version} {...ask} onAnswer={(value) => run(() => conversation.answer(item, value, { digest }))} />
      )}
      <div className="flex flex-wrap items-center gap-2 empty:hidden">
        <ExtendSelect
          item={item}
          isDisabled={sent.isSending}
          onExtend={(expiresInMs) => run(() => conversation.extendDeadline(item, { expiresInMs }))}
        />
        {hand.isChanged && <Button onClick={hand.confirm}>I have seen the change</Button>}
        <span role="status" className="text-soft">
          {sent.words}
        </span>
        {sent.error !== null && (
          <span role="alert" className="text-failed">
            {errorWords(sent.error)}
          </span>
        )}
      </div>
    </div>
  )
}

type CameFirstProps = {
  readonly who: string
  readonly status: string
  readonly at: number
  readonly isApproval: boolean
}

function CameFirst({ who, status, at, isApproval }: CameFirstProps) {
  if (status === 'expired')
    return (
      <>
        It expired before your answer, <AgoWords at={at} />.
      </>
    )
  const did = { denied: 'denied', cancelled: 'cancelled' }[status] ?? (isApproval ? 'approved' : 'answered')
  return (
    <>
      Another answer came first: it was {did} by <bdi>{oneLine(who, 80)}</bdi> <AgoWords at={at} />.
    </>
  )
}

type AskProps = { readonly item: PendingItem; readonly isSending: boolean }
type ApproveProps = AskProps & { onApprove(args: Json | undefined): void; onDeny(reason: string): void }

function Approve({ item, isSending, onApprove, onDeny }: ApproveProps) {
  const [isEditing, setEditing] = useState(false)
  const [isDenying, setDenying] = useState(false)
  const form = useForm(
    useMemo(() => fieldsOfValue(item.args), [item.args]),
    item.args,
  )
  const isEdited = isEditing && form.isChanged
  return (
    <>
      {isEditing && (
        <SchemaForm form={form} label="Arguments" showsChanges showsProblems={isEdited} isDisabled={isSending} />
      )}
      <Row>
        <Button
          kind="main"
          disabled={isSending || (isEdited && form.problems.length > 0)}
          onClick={() => onApprove(isEdited ? form.value : undefined)}
        >
          {isSending ? 'Sending…' : isEdited ? 'Approve with changes' : 'Approve'}
        </Button>
        <Button disabled={isSending} onClick={() => setDenying(true)}>
          Deny…
        </Button>
        <Button kind="quiet" aria-expanded={isEditing} disabled={isSending} onClick={() => setEditing(!isEditing)}>
          {isEditing ? 'Do not edit' : 'Edit arguments'}
        </Button>
      </Row>
      {isDenying && (
        <DenyDialog
          onClose={() => setDenying(false)}
          onDeny={(reason) => {
            setDenying(false)
            onDeny(reason)
          }}
        />
      )}
    </>
  )
}

type AnswerProps = AskProps & { onAnswer(value: unknown): void }

function Reply({ item, isSending, onAnswer }: AnswerProps) {
  const field = useMemo(() => fieldsOf(item.schema), [item.schema])
  const form = useForm(
    field,
    useMemo(() => emptyValue(field), [field]),
  )
  const [hasTried, setTried] = useState(false)
  const isPage = item.kind === 'client_exec'
  return (
    <form
      noValidate
      className="flex min-w-0 flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        setTried(true)
        if (form.value === undefined || form.problems.length > 0) return
        onAnswer(isPage ? { ok: true, result: form.value } : form.value)
      }}
    >
      {isPage && <p className="text-soft">A page should run this. Answer for it only when you know its result.</p>}
      <SchemaForm form={form} label="Answer" showsProblems={hasTried} isDisabled={isSending} />
      <Row>
        <Button kind="main" type="submit" disabled={isSending}>
          {isSending ? 'Sending…' : 'Send the answer'}
        </Button>
      </Row>
    </form>
  )
}

/** A call that was started and did not come to its end. */
function Recover({ isSending, onAnswer }: AnswerProps) {
  return (
    <>
      <p className="text-soft">
        It was started and did not come to its end. Find out whether it took effect, then decide.
      </p>
      <Row>
        <Button kind="main" disabled={isSending} onClick={() => onAnswer('report')}>
          {isSending ? 'Sending…' : 'Tell the model that it is unknown'}
        </Button>
        <Button disabled={isSending} onClick={() => onAnswer('rerun')}>
          Run it again
        </Button>
      </Row>
    </>
  )
}

function Row({ children }: { children: ReactNode }) {
  return <div className="flex flex-wrap items-center gap-2">{children}</div>
}
