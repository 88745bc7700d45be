import { useConversation } from 'perdure/react'
import { type KeyboardEvent, useEffect } from 'react'
import type { Tab } from '../addresses.ts'
import { CallsTab } from './calls-tab.tsx'
import type { EventLog } from './event-log.ts'
import { ForksTab } from './forks-tab.tsx'
import { LogTab } from './log-tab.tsx'
import { usePlace } from './place.ts'
import { StateTab } from './state-tab.tsx'
import { Timeline } from './timeline.tsx'
import { useLog } from './use-log.ts'
import { useMoment } from './use-moment.ts'

const tabs: readonly (readonly [Tab, string])[] = [
  ['timeline', 'Timeline'],
  ['log', 'Log'],
  ['state', 'State'],
  ['calls', 'Model calls'],
  ['forks', 'Forks'],
]

/** What each tab gets. `end`: the last event of the moment that is shown. */
export type PanelProps = { readonly id: string; readonly log: EventLog; readonly end: number }

/** What happened, beside the transcript. The tab, the moment and the selected event are in the address. */
export function Inspector({ id }: { id: string }) {
  const { tab, event, go } = usePlace()
  const { log, last } = useLog(id)
  const { view: now } = useConversation(id, { drafts: 'apart' })
  const moment = useMoment(id, now?.seq)
  const end = moment.at ?? last
  const view = moment.at === null ? now : moment.view
  useEffect(() => {
    if (event !== null && event <= last) void log.load(event, event).catch(() => {})
  }, [log, event, last])
  const move = (pressed: KeyboardEvent): void => {
    const step = pressed.key === 'ArrowRight' ? 1 : pressed.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    pressed.preventDefault()
    const next = tabs[(tabs.findIndex(([name]) => name === tab) + step + tabs.length) % tabs.length]![0]
    go({ tab: next }, { replace: true })
    document.getElementById(`tab-${next}`)?.focus()
  }
  const panel = { id, log, end }
  return (
    <section aria-label="Inspector" className="flex h-full min-h-0 min-w-0 flex-col">
      <div
        role="tablist"
        aria-label="Inspector"
        className="flex shrink-0 overflow-x-auto border-b px-1"
        onKeyDown={move}
      >
        {tabs.map(([name, words]) => (
          <button
            key={name}
            id={`tab-${name}`}
            type="button"
            role="tab"
            aria-selected={tab === name}
            aria-controls="inspector-panel"
            tabIndex={tab === name ? 0 : -1}
            className={`min-h-[47px] whitespace-nowrap border-b-2 px-2 ${tab === name ? 'border-text text-text' : 'border-transparent text-soft hover:text-text'}`}
            onClick={() => go({ tab: name }, { replace: true })}
          >
            {words}
          </button>
        ))}
      </div>
      <div
        id="inspector-panel"
        role="tabpanel"
        aria-labelledby={`tab-${tab}`}
        tabIndex={-1}
        className="min-h-0 grow overflow-auto"
      >
        {tab === 'timeline' && <Timeline {...panel} view={view} isNow={moment.at === null} />}
        {tab === 'log' && <LogTab {...panel} />}
        {tab === 'state' && <StateTab {...panel} view={view} />}
        {tab === 'calls' && <CallsTab {...panel} />}
        {tab === 'forks' && <ForksTab {...panel} />}
      </div>
    </section>
  )
}
