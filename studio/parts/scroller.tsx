import { type ComponentProps, createElement, Fragment, type ReactNode } from 'react'

/** Preformatted text that scrolls by itself. `label`: what it is. */
export function Scroller({ label, className = '', ...rest }: ComponentProps<'pre'> & { label: string }) {
  // A region that scrolls must be reachable by keyboard.
  const reachable = { tabIndex: 0, role: 'group', 'aria-label': label }
  return <pre {...reachable} className={`max-h-96 overflow-auto ${className}`} {...rest} />
}

/** A table that scrolls by itself where it is wider than the page. */
export function TableScroller({ children }: { children: ReactNode }) {
  const reachable = { tabIndex: 0, role: 'group', 'aria-label': 'Table' }
  return (
    <div {...reachable} data-scrolls-sideways className="overflow-x-auto">
      {children}
    </div>
  )
}

/** Elements that have no names of their own and keep their places, each made by `make`. */
export function each<T>(items: readonly T[], make: (item: T, index: number) => ReactNode): ReactNode {
  return createElement(Fragment, null, ...items.map(make))
}
