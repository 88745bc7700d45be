import { getToolName, isToolUIPart, type UIMessage } from 'ai'

type PartProps = {
  readonly part: UIMessage['parts'][number]
  /** The hook forgets what is answered while it takes up a turn. */
  readonly isBusy: boolean
  readonly answer: (answer: { id: string; approved: boolean }) => void | PromiseLike<void>
}

/** A piece of a message: text, or a call with what came of it, or with the question whether it may run. */
export function Part({ part, isBusy, answer }: PartProps) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (!isToolUIPart(part)) return null
  const call = `${getToolName(part)} ${JSON.stringify(part.input)}`
  if (part.state !== 'approval-requested') return <pre>{`${call}: ${part.state}`}</pre>
  const { id } = part.approval
  return (
    <fieldset disabled={isBusy}>
      <legend>{call}</legend>
      <button type="button" onClick={() => void answer({ id, approved: true })}>
        Approve
      </button>
      <button type="button" onClick={() => void answer({ id, approved: false })}>
        Deny
      </button>
    </fieldset>
  )
}
