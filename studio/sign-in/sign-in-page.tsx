import { type FormEvent, useEffect, useId, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { signInWith } from './session.ts'

/** Says which command prints an address that signs in, and takes a token. */
export function SignInPage({ problem, hasCodes }: { problem: string | null; hasCodes: boolean }) {
  useEffect(() => {
    document.title = 'Sign in · Perdure'
  }, [])
  return (
    <main className="grid h-dvh place-items-center overflow-auto bg-page p-4">
      <div className="flex w-full max-w-100 flex-col gap-4">
        <h1 className="text-lg">Sign in</h1>
        {problem && (
          <p role="alert" className="rounded-(--radius) border border-waiting bg-waiting-soft px-3 py-2">
            {problem}
          </p>
        )}
        {hasCodes ? <CodeHelp /> : <AppHelp />}
        <TokenForm />
      </div>
    </main>
  )
}

function CodeHelp() {
  return (
    <section className="flex flex-col gap-2">
      <p>Run this in the folder of the server, and open the address that it prints:</p>
      <pre className="overflow-x-auto rounded-(--radius) border bg-panel px-3 py-2 font-mono text-xs select-all">
        npx perdure studio
      </pre>
      <p className="text-soft">The address works once, for ten minutes. This page continues by itself.</p>
    </section>
  )
}

function AppHelp() {
  return <p>Sign in to the application that serves this page, then reload it. A token works, too.</p>
}

function TokenForm() {
  const [problem, setProblem] = useState<string | null>(null)
  const [isSending, setSending] = useState(false)

  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    const given = new FormData(event.currentTarget)
    const read = (name: string): string | null => String(given.get(name) ?? '').trim() || null
    const token = read('token')
    if (token === null) return setProblem('Enter a token.')
    setSending(true)
    const refused = await signInWith({ token, operatorToken: read('operatorToken') })
    setSending(false)
    setProblem(refused)
  }

  return (
    <form className="flex flex-col gap-3 border-t pt-4" onSubmit={(event) => void submit(event)}>
      <Secret name="token" label="Token" />
      <Secret name="operatorToken" label="Operator token (optional)" />
      {problem && (
        <p role="alert" className="text-failed">
          {problem}
        </p>
      )}
      <Button type="submit" disabled={isSending}>
        {isSending ? 'Signing in' : 'Sign in with a token'}
      </Button>
      <p className="text-soft">
        The file <code className="font-mono text-xs">.perdure/server.json</code> of a server on this machine has both.
        They stay in this tab.
      </p>
    </form>
  )
}

function Secret({ name, label }: { name: string; label: string }) {
  const id = useId()
  return (
    <label htmlFor={id} className="flex flex-col gap-1">
      <span className="text-soft">{label}</span>
      <input
        id={id}
        name={name}
        type="password"
        autoComplete="off"
        spellCheck={false}
        className="min-h-8 rounded-(--radius) border bg-panel px-2 font-mono text-xs max-md:min-h-11"
      />
    </label>
  )
}
