import type { Client, LogEvent } from 'perdure/client'
import { useClient } from 'perdure/react'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { addresses } from '../addresses.ts'
import { errorWords } from '../parts/error-words.ts'
import { each } from '../parts/scroller.tsx'
import { oneLine, shownText } from '../parts/shown-text.ts'
import { Dialog, DialogHeader } from '../shell/dialog.tsx'
import { answerDiff } from './answer-diff.ts'
import { describeEvent } from './describe-event.ts'
import { type Exchange, exchangesAfter, lastCommon } from './lineage.ts'
import { useLoaded } from './use-loaded.ts'

/** Two logs side by side from their last common event, and their answers as a difference. */
export function Compare({ id, other, onClose }: { id: string; other: string; onClose(): void }) {
  const client = useClient()
  const loaded = useLoaded(`${id} ${other}`, () => readBoth(client, id, other))
  return (
    <Dialog label="Compare" onClose={onClose} className="w-240">
      <DialogHeader title="Compare" onClose={onClose} />
      <div className="min-h-0 overflow-y-auto p-4">
        {loaded.error !== null && (
          <p role="alert" className="text-failed">
            {errorWords(loaded.error)}
          </p>
        )}
        {loaded.isLoading && <p className="text-faint">Reading both logs…</p>}
        {loaded.value && <Compared {...loaded.value} id={id} other={other} />}
      </div>
    </Dialog>
  )
}

const mostEvents = 500

type Both = {
  readonly common: number | null
  readonly mine: readonly LogEvent[]
  readonly theirs: readonly LogEvent[]
}

async function readBoth(client: Client, id: string, other: string): Promise<Both> {
  const [one, two] = [client.conversation(id), client.conversation(other)]
  const [mineLine, theirLine] = await Promise.all([one.lineage(), two.lineage()])
  const common = lastCommon({ id, lineage: mineLine }, { id: other, lineage: theirLine })
  const after = common?.seq ?? 0
  const [mine, theirs] = await Promise.all([
    one.events({ after, limit: mostEvents }),
    two.events({ after, limit: mostEvents }),
  ])
  return { common: common?.seq ?? null, mine, theirs }
}

function Compared({ id, other, common, mine, theirs }: Both & { id: string; other: string }) {
  const after = common ?? 0
  const pairs = useMemo(() => {
    const [own, their] = [exchangesAfter(mine, after), exchangesAfter(theirs, after)]
    return Array.from({ length: Math.max(own.length, their.length) }, (_, index) => ({
      key: index,
      own: own[index],
      their: their[index],
    }))
  }, [mine, theirs, after])
  return (
    <div className="flex flex-col gap-4">
      <p className="text-soft">
        {common === null
          ? 'These two have no event in common.'
          : `They are the same up to event ${common.toLocaleString()}.`}
      </p>
      {pairs.length > 0 && (
        <section aria-label="Answers" className="flex flex-col gap-3">
          {pairs.map(({ key, own, their }) => (
            <Answers key={key} own={own} their={their} />
          ))}
        </section>
      )}
      <div className="grid grid-cols-2 gap-4 max-md:grid-cols-1">
        <Column id={id} events={mine} words="This one" />
        <Column id={other} events={theirs} words="The other" />
      </div>
    </div>
  )
}

/** What this one answered, against the other. */
function Answers({ own, their }: { own: Exchange | undefined; their: Exchange | undefined }) {
  const changes = useMemo(() => (own && their ? answerDiff(their.answered, own.answered) : null), [own, their])
  const asked = own?.asked ?? their?.asked ?? ''
  return (
    <article className="border-l-2 pl-3">
      <p className="text-faint">{oneLine(asked, 200) || 'went on'}</p>
      {changes ? (
        <p dir="auto" className={`whitespace-pre-wrap ${changes.every(isChanged) ? '*:block' : ''}`}>
          {each(changes, ({ value, added, removed }) => {
            if (added) return <ins className="bg-done-soft text-done no-underline">{shownText(value)}</ins>
            if (removed) return <del className="bg-failed-soft text-failed">{shownText(value)}</del>
            return <span>{shownText(value)}</span>
          })}
        </p>
      ) : (
        <p dir="auto" className="whitespace-pre-wrap">
          <span className="text-faint">{own ? 'Only here: ' : 'Only in the other: '}</span>
          {shownText((own ?? their)?.answered ?? '')}
        </p>
      )}
    </article>
  )
}

function isChanged({ added, removed }: { readonly added?: boolean; readonly removed?: boolean }): boolean {
  return added === true || removed === true
}

function Column({ id, events, words }: { id: string; events: readonly LogEvent[]; words: string }) {
  return (
    <section aria-label={words} className="min-w-0">
      <h2 className="flex gap-2 border-b pb-1">
        <span className="text-faint">{words}</span>
        <Link href={addresses.conversation(id, { tab: 'log' })} className="min-w-0 truncate link">
          {oneLine(id, 80)}
        </Link>
      </h2>
      {events.length === 0 && <p className="pt-2 text-faint">Nothing happened after the common events.</p>}
      <ol className="font-mono text-xs">
        {events.map((event) => (
          <li key={event.seq} className="flex min-h-7 items-center gap-2">
            <span className="w-8 shrink-0 text-right text-faint">{event.seq.toLocaleString()}</span>
            <Link
              href={addresses.conversation(id, { tab: 'log', event: event.seq })}
              className="shrink-0 hover:underline"
            >
              {oneLine(event.type, 40)}
            </Link>
            <span className="min-w-0 truncate font-sans text-soft">{oneLine(describeEvent(event), 160)}</span>
          </li>
        ))}
      </ol>
      {events.length === mostEvents && <p className="pt-1 text-faint">The first {mostEvents} are shown.</p>}
    </section>
  )
}
