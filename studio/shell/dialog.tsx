import { X } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'
import { useModal } from '../parts/use-modal.ts'

/** A native dialog while it is mounted. Escape, a click beside it and its button close it; focus goes back to where it was. */
export function Dialog({
  label,
  onClose,
  className = '',
  children,
}: {
  label: string
  onClose: () => void
  className?: string
  children: ReactNode
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  useModal(dialog)
  useEffect(() => {
    const shown = dialog.current
    if (!shown) return
    // Beside it is the dialog itself: its content fills the rest.
    const onClick = (event: MouseEvent): void => {
      if (event.target === shown) onClose()
    }
    shown.addEventListener('click', onClick)
    return () => shown.removeEventListener('click', onClick)
  }, [onClose])
  return (
    <dialog
      ref={dialog}
      aria-label={label}
      onClose={onClose}
      className={`max-h-[80dvh] w-130 max-w-[calc(100vw-32px)] overflow-hidden rounded-(--radius) border bg-raised p-0 text-text shadow-xl backdrop:bg-black/40 ${className}`}
    >
      <div className="flex max-h-[80dvh] flex-col">{children}</div>
    </dialog>
  )
}

export function DialogHeader({ title, onClose }: { title: string; onClose: () => void }) {
  return (
    <header className="flex shrink-0 items-center border-b px-4 py-2">
      <h2 className="text-base font-medium">{title}</h2>
      <button
        type="button"
        aria-label="Close"
        className="-mr-2 ml-auto grid size-8 place-items-center rounded-(--radius) text-soft hover:bg-hover hover:text-text max-md:size-11"
        onClick={onClose}
      >
        <X className="size-4" aria-hidden />
      </button>
    </header>
  )
}
