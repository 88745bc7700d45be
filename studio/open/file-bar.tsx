import { File, Lock, X } from 'lucide-react'
import { Link } from 'wouter'
import { addresses } from '../addresses.ts'
import { IconButton } from '../parts/icon-button.tsx'
import { oneLine } from '../parts/shown-text.ts'
import type { OpenFile } from './open-page.tsx'

type FileBarProps = {
  readonly file: OpenFile
  readonly tenant: number
  onTenant(tenant: number): void
  onClose(): void
}

/** Says above every page that a file is shown, and what is wrong with it. */
export function FileBar({ file, tenant, onTenant, onClose }: FileBarProps) {
  const { tenants, problem } = file.content
  return (
    <header className="shrink-0 border-b bg-page">
      <div className="flex min-h-10 items-center gap-3 px-3">
        <Link
          href={addresses.conversations()}
          className="flex min-w-0 items-center gap-2 hover:underline"
          title="All conversations of the file"
        >
          <File className="size-4 shrink-0 text-faint" aria-hidden />
          <span className="truncate font-medium">{oneLine(file.name, 80)}</span>
        </Link>
        <span className="inline-flex items-center gap-1 whitespace-nowrap text-soft text-xs">
          <Lock className="size-3 shrink-0" aria-hidden />
          <span className="max-md:hidden">A file, in this browser alone. </span>Read-only
        </span>
        <span className="grow" />
        {tenants.length > 1 && (
          <select
            aria-label="Tenant"
            className="min-h-8 max-w-48 rounded-(--radius) border bg-panel px-2"
            value={tenant}
            onChange={(event) => onTenant(Number(event.currentTarget.value))}
          >
            {tenants.map(({ tenant: name }, index) => (
              <option key={name} value={index}>
                {oneLine(name, 60)}
              </option>
            ))}
          </select>
        )}
        <IconButton words="Close the file" Icon={X} onClick={onClose} />
      </div>
      {problem !== null && (
        <p role="alert" className="bg-waiting-soft px-3 py-1 text-waiting">
          {problem}
        </p>
      )}
    </header>
  )
}
