import { useId, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { Dialog, DialogHeader } from '../shell/dialog.tsx'

/** Asks why. The model reads the reason and can do better. */
export function DenyDialog({
  count = 1,
  onDeny,
  onClose,
}: {
  count?: number
  onDeny: (reason: string) => void
  onClose: () => void
}) {
  const [reason, setReason] = useState('')
  const id = useId()
  const title = count === 1 ? 'Deny' : `Deny ${count.toLocaleString()} calls`
  return (
    <Dialog label={title} onClose={onClose}>
      <DialogHeader title={title} onClose={onClose} />
      <form
        className="flex flex-col gap-3 p-4"
        onSubmit={(event) => {
          event.preventDefault()
          onDeny(reason.trim())
        }}
      >
        <label htmlFor={id} className="text-soft">
          Why? The model reads this. It may be empty.
        </label>
        <textarea
          id={id}
          data-autofocus
          rows={3}
          className="w-full rounded-(--radius) border bg-panel px-2 py-1 max-md:text-base"
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
            event.preventDefault()
            onDeny(reason.trim())
          }}
        />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger" type="submit" shortcut="Enter">
            {title}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
