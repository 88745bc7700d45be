import { type ReactNode, Suspense, use } from 'react'
import { Redirect, Route, Router, Switch } from 'wouter'
import { useBrowserLocation } from 'wouter/use-browser-location'
import { addresses, named, studioPath } from './addresses.ts'
import { Later, LaterPage } from './parts/later.tsx'
import { NotFound } from './parts/notice.tsx'
import { PageFailure } from './parts/page-failure.tsx'
import { Shell } from './shell/shell.tsx'
import { SignedIn } from './sign-in/signed-in.tsx'

const inboxPage = new LaterPage(async () => (await import('./inbox/inbox-page.tsx')).InboxPage)
const conversationsPage = new LaterPage(
  async () => (await import('./conversations/conversations-page.tsx')).ConversationsPage,
)
const conversationPage = new LaterPage(
  async () => (await import('./conversation/conversation-page.tsx')).ConversationPage,
)
const flowsPage = new LaterPage(async () => (await import('./flows/flows-page.tsx')).FlowsPage)
const sessionPage = new LaterPage(async () => (await import('./flows/session-page.tsx')).SessionPage)
const healthPage = new LaterPage(async () => (await import('./health/health-page.tsx')).HealthPage)
const openPage = new LaterPage(async () => (await import('./open/open-page.tsx')).OpenPage)

/** The code of the page in the address, loaded while the server is asked who this is. */
// A page that cannot be loaded says so when it is shown.
const firstLoaded = pageAt(location.pathname.slice(studioPath.length))
  .load()
  .catch(() => {})

function pageAt(path: string): { load(): Promise<unknown> } {
  const [, place = '', name] = path.split('/')
  if (place === 'conversations') return name === undefined ? conversationsPage : conversationPage
  if (place === 'flows') return name === undefined ? flowsPage : sessionPage
  return { health: healthPage, open: openPage }[place] ?? inboxPage
}

/** The router decodes what it reads, though not all of it: an id with a slash or a colon would come out wrong. This way it reads the address as it is written. */
const useWrittenLocation: typeof useBrowserLocation = (options) => {
  const [path, navigate] = useBrowserLocation(options)
  return [path.replaceAll('%', '%25'), navigate]
}

/** Every page by its address. */
export function App() {
  return (
    <Router base={studioPath} hook={useWrittenLocation}>
      <PageFailure>
        <Switch>
          <Route path="/open/*?" component={Opened} />
          <Route>
            <SignedIn>
              <Suspense>
                <WithFirstPage>
                  <Shell>
                    <PageFailure>
                      <Suspense>
                        <Switch>
                          <Route path="/">
                            <Redirect to={addresses.inbox()} replace />
                          </Route>
                          <Route path="/inbox/:callId?">
                            {({ callId }) => <Later page={inboxPage} props={{ callId: callId && named(callId) }} />}
                          </Route>
                          <Route path="/conversations">
                            <Later page={conversationsPage} props={{}} />
                          </Route>
                          <Route path="/conversations/:id">
                            {({ id }) => <Later page={conversationPage} props={{ id: named(id) }} />}
                          </Route>
                          <Route path="/flows">
                            <Later page={flowsPage} props={{}} />
                          </Route>
                          <Route path="/flows/:name/:id">
                            {({ name, id }) => (
                              <Later page={sessionPage} props={{ flow: named(name), id: named(id) }} />
                            )}
                          </Route>
                          <Route path="/health">
                            <Later page={healthPage} props={{}} />
                          </Route>
                          <Route component={NotFound} />
                        </Switch>
                      </Suspense>
                    </PageFailure>
                  </Shell>
                </WithFirstPage>
              </Suspense>
            </SignedIn>
          </Route>
        </Switch>
      </PageFailure>
    </Router>
  )
}

/** What surrounds a page comes with it: both ask over one stream, and nothing moves. */
function WithFirstPage({ children }: { children: ReactNode }) {
  use(firstLoaded)
  return children
}

/** A file instead of a server: there is no server to sign in to. */
function Opened() {
  return (
    <Suspense>
      <Later page={openPage} props={{}} />
    </Suspense>
  )
}
