import { StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { Page } from '../../examples/use-chat/page.tsx'

/** An app with two routes: the chat, and another one that unmounts it. */
function App() {
  const asked = new URLSearchParams(location.search)
  const [isChat, setIsChat] = useState(true)
  return (
    <>
      <nav>
        <button type="button" onClick={() => setIsChat(!isChat)}>
          {isChat ? 'Leave' : 'Return'}
        </button>
      </nav>
      {isChat ? <Page url={asked.get('url')!} id={asked.get('id')!} /> : <p>Elsewhere</p>}
    </>
  )
}

const root = document.createElement('div')
document.body.append(root)
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
