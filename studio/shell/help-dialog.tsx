import { FileUp, Search } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { addresses } from '../addresses.ts'
import { Dialog, DialogHeader } from './dialog.tsx'
import { currentKeys } from './keys.ts'
import { ThemeSwitch } from './theme-switch.tsx'

/** The keys of what is on screen, and what a phone has no room for in its tabs. */
export function HelpDialog({ onClose, onSearch }: { onClose: () => void; onSearch: () => void }) {
  const [keys] = useState(currentKeys)
  return (
    <Dialog label="Keys and more" onClose={onClose}>
      <DialogHeader title="Keys and more" onClose={onClose} />
      <div className="min-h-0 overflow-y-auto p-4">
        <div className="mb-3 flex flex-wrap gap-2 border-b pb-3">
          <button type="button" className={action} onClick={onSearch}>
            <Search className="size-4 shrink-0" aria-hidden />
            Search
          </button>
          <ThemeSwitch className={action} />
          <Link href={addresses.open()} className={action}>
            <FileUp className="size-4 shrink-0" aria-hidden />
            Open an export
          </Link>
        </div>
        <dl className="grid grid-cols-[auto_1fr] items-baseline gap-x-4 gap-y-1.5">
          {keys.map(({ key, does }) => (
            <div key={`${key} ${does}`} className="contents">
              <dt>
                <kbd className="inline-block min-w-6 rounded border bg-page px-1.5 text-center">{shown(key)}</kbd>
              </dt>
              <dd className="text-soft">{does}</dd>
            </div>
          ))}
        </dl>
      </div>
    </Dialog>
  )
}

const action =
  'flex min-h-8 items-center gap-2 rounded-(--radius) border px-3 text-soft hover:bg-hover hover:text-text max-md:min-h-11 [&_.sr-only]:not-sr-only'

const names: Readonly<Record<string, string>> = {
  ArrowUp: 'Up',
  ArrowDown: 'Down',
  ArrowLeft: 'Left',
  ArrowRight: 'Right',
  Escape: 'Esc',
  ' ': 'Space',
}

function shown(key: string): string {
  return names[key] ?? (key.length === 1 ? key.toUpperCase() : key)
}
