import type { ComponentProps } from 'react'

const kinds = {
  plain: 'border bg-panel hover:bg-hover',
  main: 'bg-strong text-on-strong hover:opacity-90',
  danger: 'border border-failed text-failed hover:bg-failed-soft',
  quiet: 'text-soft hover:bg-hover hover:text-text',
}

/** `shortcut`: the key that does the same, shown beside the words. */
export function Button({
  kind = 'plain',
  shortcut,
  className = '',
  children,
  ...rest
}: ComponentProps<'button'> & { kind?: keyof typeof kinds; shortcut?: string }) {
  return (
    <button
      type="button"
      className={`inline-flex min-h-8 items-center justify-center gap-2 rounded-(--radius) px-3 disabled:opacity-50 max-md:min-h-11 ${kinds[kind]} ${className}`}
      {...rest}
    >
      {children}
      {shortcut && (
        <kbd className="max-md:hidden" aria-hidden>
          {shortcut}
        </kbd>
      )}
    </button>
  )
}
