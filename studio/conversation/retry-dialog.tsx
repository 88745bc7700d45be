import type { UsedConversation } from 'perdure/react'
import { useState } from 'react'
import { Confirm } from '../parts/confirm.tsx'
import { codeOf } from '../parts/error-words.ts'

/** Sends the messages of a turn again, in its place. Asks a second time where a tool has run that must not be repeated by itself. */
export function RetryDialog({
  conversation,
  turnId,
  onClose,
}: {
  conversation: UsedConversation
  turnId: string
  onClose(): void
}) {
  const [mustForce, setMustForce] = useState(false)
  return (
    <Confirm
      title={mustForce ? 'A tool has run in this turn. Retry anyway?' : 'Retry this turn?'}
      action={mustForce ? 'Retry anyway' : 'Retry'}
      isDangerous={mustForce}
      onConfirm={async () => {
        try {
          await conversation.retry(turnId, mustForce ? { force: true } : {})
        } catch (error) {
          if (codeOf(error) === 'force_needed') setMustForce(true)
          throw error
        }
      }}
      onClose={onClose}
    >
      <p className="text-soft">
        {mustForce
          ? 'The effects of its tools remain, and the model knows them. They may happen a second time.'
          : 'Its messages are sent again, and the new answer replaces this one. Both stay in the log.'}
      </p>
    </Confirm>
  )
}
