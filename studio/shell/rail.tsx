import { Ellipsis, Keyboard, Search } from 'lucide-react'
import type { Totals } from 'perdure/client'
import { Link, useLocation } from 'wouter'
import { useReadOnly } from '../parts/read-only.ts'
import { type Icon, isAt, type Place, places } from './places.ts'
import { ThemeSwitch } from './theme-switch.tsx'

export type RailProps = {
  readonly totals: Totals | null
  readonly onSearch: () => void
  readonly onHelp: () => void
}

/** The pages with what waits in them; on a phone, tabs at the bottom, where search, help and the theme are behind one more. */
export function Rail({ totals, onSearch, onHelp }: RailProps) {
  const isFile = useReadOnly()
  return (
    <nav
      aria-label="Pages"
      className="flex shrink-0 gap-1 bg-page p-2 max-md:justify-around max-md:border-t max-md:pb-[max(8px,env(safe-area-inset-bottom))] md:w-14 md:flex-col md:border-r xl:w-50"
    >
      {places.map((place) =>
        place.isServer && isFile ? null : <PlaceLink key={place.to} place={place} totals={totals} />,
      )}
      <div className="grow max-md:hidden" />
      <RailButton name="Search" shortcut="/" Icon={Search} onClick={onSearch} className="max-md:hidden" />
      <RailButton name="Keys" shortcut="?" Icon={Keyboard} onClick={onHelp} className="max-md:hidden" />
      <ThemeSwitch className={`${item} max-md:hidden`} />
      <RailButton name="More" Icon={Ellipsis} onClick={onHelp} className="md:hidden" />
    </nav>
  )
}

const item =
  'flex min-h-8 min-w-0 items-center gap-2 rounded-(--radius) px-2 max-md:min-h-11 max-md:grow max-md:flex-col max-md:whitespace-nowrap max-md:justify-center max-md:gap-0 max-md:px-0 max-md:text-xs md:max-xl:justify-center text-soft hover:bg-hover hover:text-text'

function PlaceLink({ place, totals }: { place: Place; totals: Totals | null }) {
  const [location] = useLocation()
  const { name, to, Icon } = place
  const isHere = isAt(location, place)
  const count = totals ? place.count?.(totals) : undefined
  return (
    <Link
      href={to}
      title={name}
      aria-current={isHere ? 'page' : undefined}
      className={`relative ${item} ${isHere ? 'bg-selected text-text' : ''}`}
    >
      <Icon className="size-4 shrink-0" aria-hidden />
      <span className="md:max-xl:sr-only">{name}</span>
      {count !== undefined && count.value > 0 && (
        <span
          className={`max-xl:absolute max-xl:top-0 max-md:left-[calc(50%+10px)] md:max-xl:right-0.5 max-xl:text-xs xl:ml-auto ${count.isWaiting ? 'font-medium text-waiting' : 'text-faint'}`}
        >
          {short(count.value)}
          <span className="sr-only"> {count.words}</span>
        </span>
      )}
    </Link>
  )
}

function RailButton({
  name,
  Icon,
  shortcut,
  onClick,
  className,
}: {
  name: string
  Icon: Icon
  shortcut?: string
  onClick: () => void
  className: string
}) {
  return (
    <button type="button" title={name} className={`${item} ${className}`} onClick={onClick}>
      <Icon className="size-4 shrink-0" aria-hidden />
      <span className="md:max-xl:sr-only">{name}</span>
      {shortcut && (
        <kbd className="ml-auto text-faint max-xl:hidden" aria-hidden>
          {shortcut}
        </kbd>
      )}
    </button>
  )
}

/** Fits beside an icon. */
function short(count: number): string {
  return count < 1_000 ? String(count) : count < 100_000 ? `${Math.floor(count / 1_000)}k` : '99k+'
}
