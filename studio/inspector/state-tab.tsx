import type { Json, View } from 'perdure/client'
import type { ReactNode } from 'react'
import { Clock } from '../parts/clock.tsx'
import { Id } from '../parts/id.tsx'
import { Notice } from '../parts/notice.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { Status } from '../parts/status.tsx'
import { describeEvent } from './describe-event.ts'
import type { PanelProps } from './inspector.tsx'
import { JsonTree } from './json-tree.tsx'
import { usePlace } from './place.ts'

const mostChanges = 50

/** What the log adds up to at the moment that is shown. */
export function StateTab({ log, end, view }: PanelProps & { readonly view: View | null }) {
  const { go } = usePlace()
  if (!view) return <p className="p-3 text-faint">Folding the log…</p>
  if (end < 1) return <Notice title="Nothing has happened yet." />
  const { turns } = view.log
  const open = turns.findLast(({ opened, end: ended }) => opened && !ended)
  const latest = open ?? turns.at(-1)
  const queued = turns.filter((turn) => !turn.opened && !turn.end).length
  const changes = stateChanges(log, end)
  return (
    <div className="flex flex-col">
      <Section title="Turn">
        <Facts
          facts={[
            ['Phase', <Status key="phase" status={view.phase} />],
            ['Open turn', open ? <Id key="turn" id={open.turnId} /> : 'none'],
            ['Model calls in it', open ? String(open.items.filter(({ type }) => type === 'assistant').length) : null],
            ['Queued turns', queued > 0 ? String(queued) : null],
            ['Cancelled by', open?.cancel?.who ?? null],
            ['Children that wait', view.children.waiting.length > 0 ? String(view.children.waiting.length) : null],
            ['Older turns', view.log.hasOlder ? 'replaced by a summary, or left out of the view' : null],
          ]}
        />
      </Section>
      <Section title={`Waiting calls (${view.pending.length})`}>
        {view.pending.length === 0 && <p className="text-faint">None.</p>}
        {view.pending.map((item) => (
          <div key={`${item.callId} ${item.round}`} className="border-b py-1 last:border-0">
            <div className="flex items-baseline gap-2">
              <span className="text-waiting">{oneLine(item.tool, 60)}</span>
              <span className="text-soft">
                {item.kind}, round {item.round}
              </span>
              <span className="grow" />
              {item.expiresAt !== null && (
                <span className="text-faint text-xs">
                  until <Clock at={item.expiresAt} />
                </span>
              )}
            </div>
            <div className="font-mono text-xs">
              <JsonTree value={item.args} depth={1} />
            </div>
          </div>
        ))}
      </Section>
      <Section title="State of the application">
        {view.state === null ? (
          <p className="text-faint">No state has been set.</p>
        ) : (
          <div className="font-mono text-xs">
            <JsonTree value={view.state as Json} />
          </div>
        )}
      </Section>
      {changes.length > 0 && (
        <Section title="Changes of it, newest first">
          {changes.map((event) => (
            <button
              key={event.seq}
              type="button"
              className="flex w-full gap-2 rounded-xs text-left hover:bg-hover"
              onClick={() => go({ event: event.seq, tab: 'log' })}
            >
              <span className="w-10 shrink-0 text-right text-faint">{event.seq.toLocaleString()}</span>
              <span className="min-w-0 grow truncate">
                {event.type === 'state_refused' && 'refused: '}
                {oneLine(describeEvent(event), 160)}
              </span>
              <span className="text-faint">
                <Clock at={event.at} />
              </span>
            </button>
          ))}
        </Section>
      )}
      <Section title={open ? 'Options of the open turn' : 'Options of the last turn'}>
        <div className="font-mono text-xs">
          {latest ? <JsonTree value={latest.options} /> : <p className="text-faint">There is no turn.</p>}
        </div>
      </Section>
    </div>
  )
}

/** Those that are loaded. */
function stateChanges(log: PanelProps['log'], end: number) {
  const found = []
  for (let seq = end; seq >= 1 && found.length < mostChanges; seq--) {
    const event = log.event(seq)
    if (event?.type === 'state_set' || event?.type === 'state_refused') found.push(event)
  }
  return found
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="border-b p-3">
      <h2 className="pb-1 font-medium text-faint text-xs">{title}</h2>
      {children}
    </section>
  )
}

/** Those that are null are left out. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[minmax(96px,auto)_1fr] gap-x-3">
      {facts.map(
        ([name, value]) =>
          value !== null && (
            <div key={name} className="col-span-2 grid grid-cols-subgrid">
              <dt className="text-faint">{name}</dt>
              <dd className="min-w-0">{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}
