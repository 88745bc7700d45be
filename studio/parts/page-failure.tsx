import { Component, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'
import { oneLine } from './shown-text.ts'

type BoundaryProps = { readonly path: string; readonly children: ReactNode }
type Failure = { readonly error: unknown; readonly path: string }

/** Says so when a page throws or its code cannot be loaded, instead of an empty window. Another address is another attempt. */
export function PageFailure({ children }: { children: ReactNode }) {
  const [path] = useLocation()
  return <Boundary path={path}>{children}</Boundary>
}

class Boundary extends Component<BoundaryProps, { readonly failure: Failure | null }> {
  override state: { readonly failure: Failure | null } = { failure: null }

  static getDerivedStateFromError(error: unknown): { readonly failure: Failure } {
    return { failure: { error, path: '' } }
  }

  static getDerivedStateFromProps({ path }: BoundaryProps, { failure }: { readonly failure: Failure | null }) {
    if (!failure || failure.path === path) return null
    return { failure: failure.path === '' ? { ...failure, path } : null }
  }

  override render(): ReactNode {
    const { failure } = this.state
    if (!failure) return this.props.children
    return (
      <Notice isPage title="This page cannot be shown.">
        <p role="alert">{wordsOf(failure.error)}</p>
        <Button onClick={() => location.reload()}>Load it again</Button>
      </Notice>
    )
  }
}

/** Of a build that was replaced, the files of other pages are gone. Browsers word it differently. */
function wordsOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (/import|module|load|fetch/i.test(message))
    return 'Its code cannot be loaded: the server does not answer, or has a newer version of the studio.'
  return oneLine(message, 300)
}
