import { Lock } from 'lucide-react'
import { PerdureError, type Stats, type StatsWindow } from 'perdure/client'
import { useSearchParams } from 'wouter'
import { errorWords } from '../parts/error-words.ts'
import { Notice } from '../parts/notice.tsx'
import { byteSize } from '../parts/shown-text.ts'
import { Ago } from '../parts/time.tsx'
import { Chart } from './chart.tsx'
import { charts, count, milliseconds, totalsOf } from './figures.ts'
import { FleetSections } from './fleet.tsx'
import { Tables } from './tables.tsx'
import { useStats } from './use-stats.ts'

const windows: readonly { readonly window: StatsWindow; readonly words: string }[] = [
  { window: 'hour', words: 'Last hour' },
  { window: 'day', words: 'Last day' },
]

/** How the server and its store do, for operators. `?window=day` is the longer view. */
export function HealthPage() {
  const [search, setSearch] = useSearchParams()
  const window: StatsWindow = search.get('window') === 'day' ? 'day' : 'hour'
  const { stats, fleet, error, again } = useStats(window)
  if (!stats && error !== null) return <Refused error={error} />
  return (
    <div className="flex h-full flex-col">
      <header className="flex min-h-12 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-1.5">
        <h1 className="mr-auto text-base font-medium">Health</h1>
        {stats && error !== null && <span className="text-waiting">Last read failed. {errorWords(error)}</span>}
        <fieldset aria-label="Time" className="flex rounded-(--radius) border">
          {windows.map(({ window: each, words }) => (
            <button
              key={each}
              type="button"
              aria-pressed={each === window}
              className={`min-h-7 px-3 max-md:min-h-11 ${each === window ? 'bg-selected text-text' : 'text-soft hover:bg-hover'}`}
              onClick={() => setSearch(each === 'hour' ? {} : { window: each }, { replace: true })}
            >
              {words}
            </button>
          ))}
        </fieldset>
      </header>
      <div className="min-h-0 grow overflow-y-auto">
        <Summary stats={stats} />
        <div className="grid md:grid-cols-2 md:[&>*:nth-child(odd)]:border-r 2xl:grid-cols-4 2xl:[&>*]:border-r">
          {charts.map((chart) => (
            <Chart key={chart.title} chart={chart} buckets={stats?.buckets ?? none} />
          ))}
        </div>
        {stats && <Tables stats={stats} />}
        {stats && fleet && <FleetSections fleet={fleet} again={again} />}
      </div>
    </div>
  )
}

const none: Stats['buckets'] = []

function Summary({ stats }: { stats: Stats | null }) {
  const totals = stats && totalsOf(stats)
  return (
    <>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-3 border-b px-4 py-3 sm:grid-cols-4 lg:flex lg:flex-wrap lg:gap-x-10">
        <Figure name="Turns" value={totals && count(totals.turns)} />
        <Figure name="Failed" value={totals && count(totals.failed)} colour={totals?.failed ? 'text-failed' : ''} />
        <Figure name="Errors" value={totals && count(totals.errors)} colour={totals?.errors ? 'text-failed' : ''} />
        <Figure name="Tokens" value={totals && count(totals.tokens)} />
        <Figure
          name="Waiting"
          value={stats && count(stats.inbox.waiting)}
          colour={stats?.inbox.waiting ? 'text-waiting' : ''}
        />
        <Figure
          name="Oldest question"
          value={stats && (stats.inbox.oldestAt === null ? 'none' : <Ago at={stats.inbox.oldestAt} />)}
        />
        <Figure
          name="Expiry lag"
          value={
            stats &&
            (stats.expiry.overdue === 0
              ? 'none'
              : `${milliseconds(stats.expiry.lagMs)}, ${count(stats.expiry.overdue)} overdue`)
          }
          colour={stats?.expiry.overdue ? 'text-waiting' : ''}
        />
        <Figure name="Store" value={stats && (stats.storeBytes === null ? 'not known' : byteSize(stats.storeBytes))} />
      </dl>
      {stats?.isPartial && (
        <p className="border-b bg-waiting-soft px-4 py-2">
          There is more in this time than is read at once. The figures are of the newest part.
        </p>
      )}
    </>
  )
}

function Figure({ name, value, colour = '' }: { name: string; value: React.ReactNode; colour?: string }) {
  return (
    <div className="min-w-16">
      <dt className="text-xs text-faint">{name}</dt>
      <dd className={`text-base ${colour}`}>{value ?? <span className="text-faint">–</span>}</dd>
    </div>
  )
}

function Refused({ error }: { error: unknown }) {
  const mayNot = PerdureError.isInstance(error) && (error.code === 'operator_only' || error.code === 'unauthenticated')
  if (!mayNot)
    return (
      <Notice isPage title="The figures cannot be read.">
        <p>{errorWords(error)}</p>
      </Notice>
    )
  return (
    <Notice isPage title="You may not see this page." icon={<Lock className="size-5 text-faint" aria-hidden />}>
      <p>
        It shows figures of all tenants, for operators. Sign in with an operator’s token, or with the address that{' '}
        <code>perdure serve</code> prints.
      </p>
    </Notice>
  )
}
