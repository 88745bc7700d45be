import type { UsedConversation } from 'perdure/react'
import { useLocation } from 'wouter'
import { addresses } from '../addresses.ts'
import { Confirm } from '../parts/confirm.tsx'

/** Makes a conversation that goes on from an event of this one, and opens it. */
export function ForkDialog({
  conversation,
  at,
  onClose,
}: {
  conversation: UsedConversation
  at: number
  onClose(): void
}) {
  const [, navigate] = useLocation()
  return (
    <Confirm
      title={`Fork at event ${at.toLocaleString()}?`}
      action="Fork"
      onConfirm={async () => {
        const fork = await conversation.fork({ at })
        navigate(addresses.conversation(fork.id))
      }}
      onClose={onClose}
    >
      <p className="text-soft">A new conversation begins with everything up to that event. This one stays as it is.</p>
    </Confirm>
  )
}
