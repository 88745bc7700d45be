import type { InboxItem } from 'perdure/client'
import { Button } from '../parts/button.tsx'
import { EndedLine } from './inbox-row.tsx'
import { keyOf } from './item-key.ts'
import type { Answers, Ended } from './use-answers.ts'
import { headline } from './words.ts'

/** What came of one answer to many. Rows say it, too; those that need a look are listed here. */
export function ManyResults({
  items,
  answers,
  onDone,
}: {
  items: readonly InboxItem[]
  answers: Answers
  onDone: () => void
}) {
  const results = items.flatMap((item) => {
    const ended = answers.ended.get(keyOf(item))
    return ended ? [{ item, ended }] : []
  })
  const count = (is: (ended: Ended) => boolean): number => results.filter(({ ended }) => is(ended)).length
  const sending = count(({ outcome }) => outcome.type === 'sending')
  const accepted = count(({ outcome }) => outcome.type === 'accepted')
  const others = results.filter(({ ended }) => ended.outcome.type !== 'accepted' && ended.outcome.type !== 'sending')
  return (
    <section aria-label="What came of it" className="flex h-full min-w-0 flex-col overflow-y-auto">
      <header className="flex min-h-12 shrink-0 items-center gap-2 border-b px-5 max-md:px-4">
        <h2 role="status" className="text-base font-medium">
          {sending > 0
            ? `Sending: ${(items.length - sending).toLocaleString()} of ${items.length.toLocaleString()}`
            : `${accepted.toLocaleString()} of ${items.length.toLocaleString()} accepted`}
        </h2>
        {sending === 0 && (
          <Button className="ml-auto" shortcut="Esc" onClick={onDone}>
            Done
          </Button>
        )}
      </header>
      <div className="flex max-w-180 flex-col gap-1 p-5 max-md:p-4">
        {others.length === 0 && sending === 0 && <p className="text-soft">Every answer was accepted.</p>}
        {others.length > 0 && (
          <p className="mb-2 text-soft">{others.length.toLocaleString()} were not answered by you:</p>
        )}
        {others.map(({ item, ended }) => (
          <div key={keyOf(item)} className="flex min-w-0 flex-wrap items-baseline gap-x-3 border-b py-1.5">
            <span className="min-w-0 grow truncate">{headline(item)}</span>
            <EndedLine ended={ended} />
          </div>
        ))}
      </div>
    </section>
  )
}
