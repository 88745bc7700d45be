import { expect, test, vi } from 'vitest'
import { ServerUnreachableError } from '../base/errors/server-errors.ts'
import type { Link, Listener } from './link.ts'
import { Tab } from './tab.ts'
import { TotalsStore } from './totals-store.ts'

test('totals that the server does not have are null, and known to be so', async () => {
  let listener: Listener | null = null
  const link = {
    tab: new Tab({}),
    client: { totals: async () => null },
    listen(given: Listener) {
      listener = given
      return () => {}
    },
  } as unknown as Link
  const { live } = new TotalsStore(link, {})
  live.subscribe(() => {})
  expect(live.value).toEqual({ totals: null, status: 'loading', error: null })
  listener!.onChange({ type: 'reset' })
  await vi.waitFor(() => expect(live.value).toEqual({ totals: null, status: 'live', error: null }), { timeout: 20_000 })
  listener!.onDisconnect(new ServerUnreachableError('http://localhost'))
  expect(live.value).toMatchObject({ totals: null, status: 'reconnecting' })
})
