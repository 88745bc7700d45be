import { createClient } from 'perdure/client'
import { PerdureProvider } from 'perdure/react'
import { type ReactNode, useEffect, useMemo, useState } from 'react'
import { Redirect, Route, Router, Switch } from 'wouter'
import { addresses, named } from '../addresses.ts'
import { ConversationPage } from '../conversation/conversation-page.tsx'
import { ConversationsPage } from '../conversations/conversations-page.tsx'
import { FlowsPage } from '../flows/flows-page.tsx'
import { SessionPage } from '../flows/session-page.tsx'
import { loadFilesWith } from '../parts/load-file.ts'
import { NotFound } from '../parts/notice.tsx'
import { ReadOnly } from '../parts/read-only.ts'
import { Shell } from '../shell/shell.tsx'
import { Drop } from './drop.tsx'
import { exportFetch } from './export-fetch.ts'
import { FileBar } from './file-bar.tsx'
import type { Export, ExportedTenant } from './read-export.ts'

/** A file that is open, in this page alone. */
export type OpenFile = { readonly name: string; readonly content: Export }

/**
 * The pages of the studio over a file instead of a server. The addresses below `/open` are those of the studio, so that a link to an event works once the file
 * is dropped again.
 */
export function OpenPage() {
  const [file, setFile] = useState<OpenFile | null>(null)
  const [chosen, setChosen] = useState(0)
  const tenant = file?.content.tenants[chosen]
  if (!file || !tenant) return <Drop onOpen={setFile} />
  const close = (): void => {
    setFile(null)
    setChosen(0)
  }
  const bar = <FileBar file={file} tenant={chosen} onTenant={setChosen} onClose={close} />
  return <Pages key={chosen} tenant={tenant} bar={bar} />
}

function Pages({ tenant, bar }: { tenant: ExportedTenant; bar: ReactNode }) {
  const answer = useMemo(() => exportFetch(tenant), [tenant])
  const client = useMemo(() => createClient({ url: location.origin, fetch: answer }), [answer])
  useEffect(() => {
    loadFilesWith(answer)
    return () => loadFilesWith(null)
  }, [answer])
  const start = startOf(tenant)
  return (
    <PerdureProvider client={client}>
      <ReadOnly value={true}>
        <Router base={addresses.open()}>
          <Shell bar={bar}>
            <Switch>
              <Route path="/conversations" component={ConversationsPage} />
              <Route path="/conversations/:id">{({ id }) => <ConversationPage id={named(id)} />}</Route>
              <Route path="/flows" component={FlowsPage} />
              <Route path="/flows/:name/:id">
                {({ name, id }) => <SessionPage flow={named(name)} id={named(id)} />}
              </Route>
              <Route path="/">
                <Redirect to={start} replace />
              </Route>
              <Route component={NotFound} />
            </Switch>
          </Shell>
        </Router>
      </ReadOnly>
    </PerdureProvider>
  )
}

/** A bug report is one conversation, with its child agents. */
function startOf({ conversations }: ExportedTenant): string {
  const [first, ...others] = [...conversations.values()].filter(({ childOf }) => childOf === null)
  const isOne = first?.record.kind === 'conversation' && others.length === 0
  return isOne ? addresses.conversation(first.record.id) : addresses.conversations()
}
