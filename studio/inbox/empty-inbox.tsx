import { InboxIcon } from 'lucide-react'
import { CodeBlock } from '../parts/code-block.tsx'
import { Notice } from '../parts/notice.tsx'
import { AgoWords } from '../parts/time.tsx'
import { lastAnswerAt } from './use-answers.ts'

const lines = `const refund = defineTool({
  name: 'refund', input: z.object({ id: z.string() }),
  approval: 'required', run: ({ id }) => payBack(id),
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
      <div className="w-full text-left text-text">
        <CodeBlock text={lines} language="ts" />
      </div>
    </Notice>
  )
}
