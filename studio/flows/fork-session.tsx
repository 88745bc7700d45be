import { useState } from 'react'
import { Confirm } from '../parts/confirm.tsx'

export type ForkSessionProps = {
  readonly id: string
  readonly at: number
  readonly lastSeq: number
  readonly onFork: (newId: string, at: number) => Promise<void>
  readonly onClose: () => void
}

/** Asks for the name of the copy. It does nothing until it is continued or resumed. */
export function ForkSession({ id, at, lastSeq, onFork, onClose }: ForkSessionProps) {
  const [newId, setNewId] = useState(() => `${id.slice(0, 80)}-fork-${crypto.randomUUID().slice(0, 8)}`)
  return (
    <Confirm
      title={at === lastSeq ? 'Fork this session' : `Fork this session at event ${at}`}
      action="Fork"
      onConfirm={() => onFork(newId.trim(), at)}
      onClose={onClose}
    >
      <p className="text-soft">
        The copy has the events up to {at}. It does nothing until you continue or resume it, and steps that are done do
        not run again.
      </p>
      <label className="flex flex-col gap-1">
        <span className="text-soft">Id of the copy</span>
        <input
          required
          maxLength={200}
          className="min-h-8 rounded-(--radius) border bg-panel px-2 font-mono text-xs max-md:min-h-11"
          value={newId}
          onChange={(event) => setNewId(event.target.value)}
        />
      </label>
    </Confirm>
  )
}
