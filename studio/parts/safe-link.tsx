import type { ReactNode } from 'react'
import { oneLine } from './shown-text.ts'

/** A link of a model, a tool or a person. Other kinds of addresses than those of pages and mail stay text. */
export function SafeLink({ href, children }: { href: string; children: ReactNode }) {
  const address = safeAddress(href)
  if (!address) return <span title={oneLine(href)}>{children}</span>
  return (
    <a href={address} title={oneLine(address)} target="_blank" rel="noopener noreferrer nofollow" className="link">
      {children}
    </a>
  )
}

/** The address where it is one of a page or of mail, and has no user name that could pose as a host; else null. */
export function safeAddress(href: string): string | null {
  if (href.length > 4_000 || !URL.canParse(href)) return null
  const url = new URL(href)
  if (url.protocol === 'mailto:') return url.href
  return /^https?:$/.test(url.protocol) && url.username === '' ? url.href : null
}
