import { Moon, Sun, SunMoon } from 'lucide-react'
import { useState } from 'react'
import type { Icon } from './places.ts'
import { applyTheme, chosenTheme, type Theme } from './theme.ts'

const themes: Record<Theme, readonly [Theme, Icon, string]> = {
  system: ['light', SunMoon, 'System theme'],
  light: ['dark', Sun, 'Light theme'],
  dark: ['system', Moon, 'Dark theme'],
}

/** Each click takes the next: as the system says, light, dark. */
export function ThemeSwitch({ className = '' }: { className?: string }) {
  const [theme, setTheme] = useState(chosenTheme)
  const [next, Icon, words] = themes[theme]
  return (
    <button
      type="button"
      title={`${words}; click to change`}
      className={className}
      onClick={() => {
        applyTheme(next)
        setTheme(next)
      }}
    >
      <Icon className="size-4 shrink-0" aria-hidden />
      <span className="md:max-xl:sr-only">{words}</span>
    </button>
  )
}
