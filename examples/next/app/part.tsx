import { getToolName, isToolUIPart, type UIMessage } from 'ai'

type PartProps = {
  readonly part: UIMessage['parts'][number]
  readonly message: UIMessage
  /** The hook forgets what is answered while it takes up a turn. */
  readonly isBusy: boolean
  readonly answer: (answer: { id: string; approved: boolean }) => void | PromiseLike<void>
}

/** A piece of a message: text, or a call with what came of it, or with the question whether it may run. */
export function Part({ part, message, isBusy, answer }: PartProps) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (!isToolUIPart(part)) return null
  const call = `${getToolName(part)} ${JSON.stringify(part.input)}`
  if (part.state !== 'approval-requested') return <pre>{`${call}: ${part.state}`}</pre>
  const { id } = part.approval
  return (
    <fieldset disabled={isBusy}>
      <legend>{saidOf(message, part.toolCallId) ?? call}</legend>
      <button type="button" onClick={() => void answer({ id, approved: true })}>
        Approve
      </button>
      <button type="button" onClick={() => void answer({ id, approved: false })}>
        Deny
      </button>
    </fieldset>
  )
}

type Question = { readonly callId: string; readonly description?: string }

/** What the call will do, in one line, where its tool has `describe`. */
function saidOf({ parts }: UIMessage, callId: string): string | undefined {
  const questions = parts.flatMap((part) => (part.type === 'data-question' ? [part.data as Question] : []))
  return questions.find((question) => question.callId === callId)?.description
}

/** Says that an answer is incomplete: it was cut off at its length, or filtered. */
export function Ending({ message }: { readonly message: UIMessage }) {
  const { finishReason } = (message.metadata ?? {}) as { readonly finishReason?: string }
  return finishReason ? <em>This answer was cut off ({finishReason}).</em> : null
}
