import type { Client, LogEvent } from 'perdure/client'
import { useClient, useConversation } from 'perdure/react'
import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { EventLog } from './event-log.ts'
import { emptyView, PastViews } from './past-views.ts'

/** The log of a conversation as far as this page has read it, shared by all panes. */
export type OpenLog = { readonly id: string; readonly log: EventLog; readonly views: PastViews }

const mostKept = 6
const opened = new WeakMap<Client, Map<string, OpenLog>>()

/** What was read of a log stays for as long as it is among the last few that were looked at. */
function openLog(client: Client, id: string): OpenLog {
  const logs = opened.get(client) ?? new Map<string, OpenLog>()
  opened.set(client, logs)
  const known = logs.get(id) ?? makeLog(client, id)
  logs.delete(id)
  logs.set(id, known)
  if (logs.size > mostKept) logs.delete(logs.keys().next().value!)
  return known
}

function makeLog(client: Client, id: string): OpenLog {
  const handle = client.conversation(id)
  const log = new EventLog((range) => handle.events(range))
  return { id, log, views: new PastViews(log, async (at) => (at === 0 ? emptyView(id) : handle.view({ at }))) }
}

/** The log, which grows while the conversation goes on. */
export function useLog(id: string): OpenLog & { readonly last: number } {
  const client = useClient()
  const { view } = useConversation(id, { drafts: 'apart' })
  const open = useMemo(() => openLog(client, id), [client, id])
  const last = view?.seq ?? 0
  useEffect(() => open.log.grow(last), [open, last])
  useVersion(open.log)
  return useMemo(() => ({ ...open, last }), [open, last])
}

/** The events between two, both included; undefined while they are not loaded. The same list until more are loaded. */
export function useEvents(log: EventLog, from: number, to: number): readonly LogEvent[] | undefined {
  const version = useVersion(log)
  return useMemo(() => loadedAt(version, log, from, to), [version, log, from, to])
}

function loadedAt(_version: number, log: EventLog, from: number, to: number): readonly LogEvent[] | undefined {
  return to < from ? [] : log.between(from, to)
}

/** Renders again whenever events were loaded. */
function useVersion(log: EventLog): number {
  return useSyncExternalStore(log.subscribe, () => log.version)
}
