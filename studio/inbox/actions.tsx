import type { ReactNode } from 'react'

/** The buttons of an answer; on a phone at the bottom of the screen, under the thumb. What went wrong is said above them. */
export function Actions({ hint, children }: { hint: string | null; children: ReactNode }) {
  return (
    <div className="mt-auto flex flex-col gap-2 max-md:sticky max-md:bottom-0 max-md:-mx-4 max-md:-mb-4 max-md:border-t max-md:bg-panel max-md:p-3 md:mt-1">
      <p role="alert" className="text-waiting empty:hidden">
        {hint}
      </p>
      <div className="flex flex-wrap items-center gap-2 max-md:[&>button:not(.quiet)]:grow">{children}</div>
    </div>
  )
}
