import { X } from 'lucide-react'
import { type PointerEvent, type ReactNode, useEffect, useState, useSyncExternalStore } from 'react'
import { useSearchParams } from 'wouter'
import { usePlace } from '../inspector/place.ts'
import { IconButton } from '../parts/icon-button.tsx'

const key = 'perdure.inspector'
const widths = { least: 320, first: 420, most: 900 }
const wide = matchMedia('(min-width: 1024px)')

export type Pane = { readonly isShown: boolean; readonly isSheet: boolean; toggle(): void }

/** Whether the inspector is shown. Beside the transcript the choice is kept; as a sheet it is open while the address names a tab. */
export function useInspectorPane(): Pane {
  const isWide = useSyncExternalStore(onWide, () => wide.matches)
  const [isClosed, setClosed] = useState(() => localStorage.getItem(key) === 'closed')
  const [search] = useSearchParams()
  const { tab, go } = usePlace()
  if (!isWide) {
    const isShown = search.has('tab')
    return { isShown, isSheet: true, toggle: () => go({ tab: isShown ? null : tab }) }
  }
  const toggle = (): void => {
    localStorage.setItem(key, isClosed ? 'open' : 'closed')
    setClosed(!isClosed)
  }
  return { isShown: !isClosed, isSheet: false, toggle }
}

function onWide(listener: () => void): () => void {
  wide.addEventListener('change', listener)
  return () => wide.removeEventListener('change', listener)
}

/** The inspector beside the transcript, as wide as a person made it; on a small screen, a sheet over it. */
export function InspectorPane({ pane, children }: { pane: Pane; children: ReactNode }) {
  const [width, setWidth] = useState(keptWidth)
  useEffect(() => localStorage.setItem(`${key}.width`, String(width)), [width])
  if (!pane.isShown) return null
  if (pane.isSheet) {
    return (
      // Above the tabs of the rail on a phone: 61 px with its border.
      <div className="fixed inset-x-0 top-[12dvh] bottom-0 max-md:top-12 max-md:rounded-none max-md:border-t-0 max-md:shadow-none z-10 flex flex-col rounded-t-(--radius) border-t bg-panel shadow-lg max-md:bottom-[calc(53px+max(8px,env(safe-area-inset-bottom)))] [&_[role=tablist]]:pr-12">
        <div className="absolute top-0 right-0.5 z-1 bg-panel">
          <IconButton words="Close the inspector" Icon={X} onClick={pane.toggle} />
        </div>
        <div className="min-h-0 grow">{children}</div>
      </div>
    )
  }
  const resize = (by: number): void => setWidth((now) => Math.min(widths.most, Math.max(widths.least, now + by)))
  return (
    <div className="relative h-full shrink-0 border-l" style={{ width }}>
      <div
        role="slider"
        aria-label="Width of the inspector"
        aria-orientation="horizontal"
        aria-valuenow={width}
        aria-valuemin={widths.least}
        aria-valuemax={widths.most}
        tabIndex={0}
        className="absolute inset-y-0 -left-1 z-1 w-2 cursor-col-resize touch-none hover:bg-selected"
        onPointerDown={(event: PointerEvent<HTMLDivElement>) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) resize(-event.movementX)
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowLeft') resize(20)
          if (event.key === 'ArrowRight') resize(-20)
        }}
      />
      {children}
    </div>
  )
}

function keptWidth(): number {
  const kept = Number(localStorage.getItem(`${key}.width`))
  return kept >= widths.least && kept <= widths.most ? kept : widths.first
}
