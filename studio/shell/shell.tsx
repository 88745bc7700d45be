import { useTotals } from 'perdure/react'
import { type ReactNode, useCallback, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useReadOnly } from '../parts/read-only.ts'
import { ConnectionLine } from './connection-line.tsx'
import { HelpDialog } from './help-dialog.tsx'
import { type Key, useKeys } from './keys.ts'
import { places } from './places.ts'
import { Rail } from './rail.tsx'
import { SearchDialog } from './search-dialog.tsx'
import { usePlaceTitle } from './title.ts'

/** What surrounds every page: the rail, the line that says when the server does not answer, help and search. `bar`: what else stands above every page. */
export function Shell({ bar, children }: { bar?: ReactNode; children: ReactNode }) {
  const [location, navigate] = useLocation()
  const { totals } = useTotals()
  const isFile = useReadOnly()
  const [open, setOpen] = useState<'help' | 'search' | null>(null)
  const close = useCallback(() => setOpen(null), [])
  const keys = useMemo<readonly Key[]>(
    () => [
      { key: '?', does: 'Show the keys of this page', run: () => setOpen('help') },
      { key: '/', does: 'Search conversations and sessions', run: () => setOpen('search') },
      ...places.flatMap(({ to, does, isServer = false }, index) =>
        isServer && isFile ? [] : [{ key: String(index + 1), does, run: () => navigate(to) }],
      ),
    ],
    [navigate, isFile],
  )
  useKeys(keys, { isAround: true })
  usePlaceTitle(location, totals?.inbox.waiting ?? 0)
  return (
    <div className="flex h-dvh max-md:flex-col-reverse">
      <button
        type="button"
        className="sr-only focus:not-sr-only focus:absolute focus:top-2 focus:left-2 focus:z-10 focus:rounded-(--radius) focus:border focus:bg-raised focus:px-3 focus:py-2"
        onClick={() => document.getElementById('page')?.focus()}
      >
        Skip to the page
      </button>
      <Rail totals={totals} onSearch={() => setOpen('search')} onHelp={() => setOpen('help')} />
      <div className="flex min-h-0 min-w-0 grow flex-col bg-panel">
        {bar}
        <ConnectionLine />
        <main id="page" tabIndex={-1} className="min-h-0 min-w-0 grow outline-none">
          {children}
        </main>
      </div>
      {open === 'help' && <HelpDialog onClose={close} onSearch={() => setOpen('search')} />}
      {open === 'search' && <SearchDialog onClose={close} />}
    </div>
  )
}
