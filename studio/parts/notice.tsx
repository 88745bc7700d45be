import type { ReactNode } from 'react'
import { Link } from 'wouter'

type NoticeProps = {
  readonly title: string
  readonly children?: ReactNode
  readonly icon?: ReactNode
  /** There is nothing else on the page: the sentence is its heading. */
  readonly isPage?: boolean
}

/** What a pane shows when there is nothing else to show: one sentence, and what to do. */
export function Notice({ title, children, icon, isPage = false }: NoticeProps) {
  const Title = isPage ? 'h1' : 'p'
  return (
    <div className="grid h-full place-items-center p-8 text-center">
      <div className="flex max-w-120 flex-col items-center gap-2 text-soft">
        {icon}
        <Title className="text-base text-text">{title}</Title>
        {children}
      </div>
    </div>
  )
}

export function NotFound() {
  return (
    <Notice isPage title="There is no page at this address.">
      <Link href="/" className="link max-md:py-3">
        Go to the first page
      </Link>
    </Notice>
  )
}
