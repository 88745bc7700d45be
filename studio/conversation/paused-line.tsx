import type { RemoteRecord } from 'perdure/client'
import { useClient } from 'perdure/react'
import { useState } from 'react'
import { Link } from 'wouter'
import { addresses } from '../addresses.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { errorWords } from '../parts/error-words.ts'
import { AgoWords } from '../parts/time.tsx'

type Resumed = 'idle' | 'sending' | 'elsewhere' | { readonly error: unknown }

/** Since when no process works on it. Operators, who are told its tenant, resume it here. */
export function PausedLine({
  record,
  at,
  again,
}: {
  readonly record: RemoteRecord | null
  readonly at: number
  readonly again: () => Promise<void>
}) {
  const client = useClient()
  const [state, setState] = useState<Resumed>('idle')
  const resume = async (conversation: string, tenant: string): Promise<void> => {
    setState('sending')
    try {
      // What is paused with its agent or its tenant is no pause of its own.
      const wasPaused = await client.resume({ conversation, tenant })
      setState(wasPaused ? 'idle' : 'elsewhere')
      await again()
    } catch (error) {
      setState({ error })
    }
  }
  return (
    <>
      <span>
        Paused <AgoWords at={at} />: messages queue and answers are kept until{' '}
        {state === 'elsewhere' ? (
          <>
            its agent or its tenant is resumed, on{' '}
            <Link href={addresses.health()} className="underline underline-offset-2">
              Health
            </Link>
            .
          </>
        ) : record?.tenant === undefined ? (
          'an operator resumes it.'
        ) : (
          'it is resumed.'
        )}
        {typeof state === 'object' && <span role="alert"> {errorWords(state.error)}</span>}
      </span>
      {record?.tenant !== undefined && state !== 'elsewhere' && (
        <Button
          kind="quiet"
          className="shrink-0"
          disabled={state === 'sending'}
          onClick={() => void resume(record.id, record.tenant!)}
        >
          Resume
        </Button>
      )}
    </>
  )
}

type PauseDialogProps = {
  readonly id: string
  readonly tenant: string
  readonly again: () => Promise<void>
  onClose(): void
}

/** Asks before a conversation is paused. */
export function PauseDialog({ id, tenant, again, onClose }: PauseDialogProps) {
  const client = useClient()
  return (
    <Confirm
      title="Pause this conversation?"
      action="Pause"
      onConfirm={async () => {
        await client.pause({ conversation: id, tenant })
        await again()
      }}
      onClose={onClose}
    >
      <p className="text-soft">
        No process works on it until it is resumed. What runs now goes on to its end; messages queue, and answers and
        deadlines are recorded.
      </p>
    </Confirm>
  )
}
