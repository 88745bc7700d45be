import { InboxIcon } from 'lucide-react'
import { Notice } from '../parts/notice.tsx'
import { AgoWords } from '../parts/time.tsx'
import { lastAnswerAt } from './use-answers.ts'

const lines = `const refund = defineTool({
  name: 'refund',
  input: z.object({ orderId: z.string() }),
  approval: 'required',
  describe: ({ orderId }) => \`Refund \${orderId}\`,
  run: ({ orderId }) => payBack(orderId),
})`

/** Says that all is done, or how a tool asks. */
export function EmptyInbox() {
  const last = lastAnswerAt()
  return (
    <Notice isPage title="Nothing is waiting." icon={<InboxIcon className="size-6 text-faint" aria-hidden />}>
      {last !== null && (
        <p>
          Last answer: <AgoWords at={last} />
        </p>
      )}
      <p className="mt-4">
        A tool with <code>approval</code> asks here before it runs:
      </p>
      <pre className="max-w-full overflow-x-auto rounded-(--radius) border bg-page p-3 text-left text-text">
        {lines}
      </pre>
    </Notice>
  )
}
