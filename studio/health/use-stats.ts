import type { Stats, StatsWindow } from 'perdure/client'
import { useClient } from 'perdure/react'
import { useEffect, useState } from 'react'

const everyMs = { hour: 5_000, day: 30_000 } as const

export type UsedStats = { readonly stats: Stats | null; readonly error: unknown }

/** Read again while the tab is visible. What was read last stays when a later read fails. */
export function useStats(window: StatsWindow): UsedStats {
  const client = useClient()
  const [used, setUsed] = useState<UsedStats & { readonly window: StatsWindow }>({ stats: null, error: null, window })
  useEffect(() => {
    let isOld = false
    const read = async (): Promise<void> => {
      if (document.visibilityState === 'hidden') return
      const found = await client.stats({ window }).then(
        (stats) => ({ stats, error: null, window }),
        (error: unknown) => ({ error, window }),
      )
      if (!isOld) setUsed((last) => ({ ...(last.window === window ? last : { stats: null }), ...found }))
    }
    const onVisible = (): void => void read()
    void read()
    const timer = setInterval(() => void read(), everyMs[window])
    document.addEventListener('visibilitychange', onVisible)
    return () => {
      isOld = true
      clearInterval(timer)
      document.removeEventListener('visibilitychange', onVisible)
    }
  }, [client, window])
  return used
}
