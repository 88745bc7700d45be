import { PerdureProvider } from 'perdure/react'
import type { ReactNode } from 'react'
import { Notice } from '../parts/notice.tsx'
import { client, useSignIn } from './session.ts'
import { SignInPage } from './sign-in-page.tsx'

/** Shows the pages to a person whom the server knows, and the sign-in to all others, at the same address. */
export function SignedIn({ children }: { children: ReactNode }) {
  const state = useSignIn()
  if (state.status === 'signed-in') return <PerdureProvider client={client}>{children}</PerdureProvider>
  if (state.status === 'signed-out') return <SignInPage problem={state.problem} hasCodes={state.hasCodes} />
  if (state.status === 'checking') return null
  return (
    <main className="h-dvh bg-panel">
      <Notice title={state.problem}>
        <p role="status">This page tries again every two seconds.</p>
      </Notice>
    </main>
  )
}
