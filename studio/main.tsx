import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import './style.css'
import { applyKnownLanguage } from './shell/known-language.ts'
import { applyTheme } from './shell/theme.ts'

applyKnownLanguage()
applyTheme()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
