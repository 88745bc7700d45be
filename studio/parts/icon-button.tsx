import type { ComponentProps, ComponentType } from 'react'

/** A button that is only an icon: its words are for hover and for screen readers. */
export function IconButton({
  words,
  Icon,
  className = '',
  ...rest
}: ComponentProps<'button'> & { words: string; Icon: ComponentType<{ className?: string; 'aria-hidden'?: boolean }> }) {
  return (
    <button
      type="button"
      title={words}
      aria-label={words}
      className={`grid size-7 shrink-0 place-items-center rounded-(--radius) text-faint hover:bg-hover hover:text-text disabled:opacity-40 max-md:size-11 ${className}`}
      {...rest}
    >
      <Icon className="size-3.5" aria-hidden />
    </button>
  )
}
