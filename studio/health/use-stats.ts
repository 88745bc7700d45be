import type { BulkJob, Client, NodeState, Pause, Stats, StatsWindow, Work } from 'perdure/client'
import { useClient } from 'perdure/react'
import { useCallback, useEffect, useRef, useState } from 'react'

const everyMs = { hour: 5_000, day: 30_000 } as const

/** What was read, or why it could not be: a store may lack it. */
export type Part<T> = { readonly found: T } | { readonly error: unknown }

/** What works on the store, and how it is steered. */
export type Fleet = {
  readonly nodes: Part<readonly NodeState[]>
  readonly pauses: Part<readonly Pause[]>
  readonly jobs: Part<readonly BulkJob[]>
  /** The oldest that is due. */
  readonly due: Part<readonly Work[]>
  readonly quarantined: Part<readonly Work[]>
}

export type UsedStats = {
  readonly stats: Stats | null
  readonly fleet: Fleet | null
  readonly error: unknown
  /** Reads at once, after something was done. */
  readonly again: () => Promise<void>
}

type Read = Pick<UsedStats, 'stats' | 'fleet' | 'error'> & { readonly window: StatsWindow }

/** Read again while the tab is visible. What was read last stays when a later read fails. */
export function useStats(window: StatsWindow): UsedStats {
  const client = useClient()
  const [used, setUsed] = useState<Read>({ stats: null, fleet: null, error: null, window })
  /** Counts reads: an older one that ends later is not shown. */
  const newest = useRef(0)
  const read = useCallback(async () => {
    newest.current += 1
    const own = newest.current
    const found = await client.stats({ window }).then(
      (stats) => ({ stats, error: null }),
      (error: unknown) => ({ error }),
    )
    // Who may not see the figures is not shown the fleet either.
    const fleet = 'stats' in found ? { fleet: await readFleet(client) } : {}
    if (own !== newest.current) return
    setUsed((last) => ({ ...(last.window === window ? last : { ...last, stats: null }), ...found, ...fleet, window }))
  }, [client, window])
  useEffect(() => {
    const readIfVisible = (): void => {
      if (document.visibilityState !== 'hidden') void read()
    }
    readIfVisible()
    const timer = setInterval(readIfVisible, everyMs[window])
    document.addEventListener('visibilitychange', readIfVisible)
    return () => {
      newest.current += 1
      clearInterval(timer)
      document.removeEventListener('visibilitychange', readIfVisible)
    }
  }, [read, window])
  return { stats: used.stats, fleet: used.fleet, error: used.error, again: read }
}

const shownRows = 10

async function readFleet(client: Client): Promise<Fleet> {
  const [nodes, pauses, jobs, due, quarantined] = await Promise.all([
    part(client.nodes()),
    part(client.pauses()),
    part(client.bulk.list({ limit: shownRows })),
    part(client.work({ limit: shownRows })),
    part(client.work({ state: 'quarantined', limit: shownRows })),
  ])
  return { nodes, pauses, jobs, due, quarantined }
}

function part<T>(reading: Promise<T>): Promise<Part<T>> {
  return reading.then(
    (found) => ({ found }),
    (error: unknown) => ({ error }),
  )
}
