import type { ReactNode } from 'react'

/** On a phone at the bottom of the screen, above the tabs of the rail, which take 61 px. What scrolls there has `aboveActions`. */
const fixed = 'max-md:fixed max-md:inset-x-0 max-md:bottom-[calc(53px+max(8px,env(safe-area-inset-bottom)))] max-md:z-1'
/** On a phone at the end of what they belong to, or at the bottom of the screen while that is longer. */
const sticky = 'max-md:sticky max-md:bottom-0 max-md:-mx-4 max-md:-mb-4'

/** Room for the buttons below what scrolls, on a phone. */
export const aboveActions = 'max-md:pb-24 max-md:scroll-pb-24'

type ActionsProps = {
  readonly hint: string | null
  /** Whether others may be on the page. */
  readonly isOneOfMany?: boolean
  readonly children: ReactNode
}

/** The buttons of an answer, on a phone under the thumb. What went wrong is said above them. */
export function Actions({ hint, isOneOfMany = false, children }: ActionsProps) {
  return (
    <div
      className={`mt-auto flex flex-col gap-2 ${isOneOfMany ? sticky : fixed} max-md:border-t max-md:bg-panel max-md:p-3 md:mt-1`}
    >
      <p role="alert" className="text-waiting empty:hidden">
        {hint}
      </p>
      <div className="flex flex-wrap items-center gap-2 max-md:[&>button:not(.quiet)]:grow">{children}</div>
    </div>
  )
}
