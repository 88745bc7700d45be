import { type ComponentProps, type ReactNode, useState } from 'react'
import { Button } from './button.tsx'
import { Confirm } from './confirm.tsx'

export type AskingButtonProps = Pick<ComponentProps<typeof Button>, 'kind' | 'className'> & {
  /** What the button says, and the one of its question. */
  readonly words: string
  readonly label: string
  readonly title: string
  readonly isDangerous?: boolean
  readonly children: ReactNode
  readonly act: () => Promise<unknown>
  /** Reads again what is shown. */
  readonly again: () => Promise<void>
}

/** A button that asks before it acts. */
export function AskingButton({
  words,
  label,
  title,
  isDangerous = false,
  children,
  act,
  again,
  ...button
}: AskingButtonProps) {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button {...button} aria-label={label} onClick={() => setAsking(true)}>
        {words}…
      </Button>
      {isAsking && (
        <Confirm
          title={title}
          action={words}
          isDangerous={isDangerous}
          onConfirm={async () => {
            await act()
            await again()
          }}
          onClose={() => setAsking(false)}
        >
          <p className="text-soft">{children}</p>
        </Confirm>
      )}
    </>
  )
}
