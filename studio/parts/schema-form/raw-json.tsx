import { useId } from 'react'
import { TextInput } from './inputs.tsx'
import { type Form, rawText } from './use-form.ts'

/** The whole value as JSON text. */
export function RawJson({ form, label, isDisabled }: { form: Form; label: string; isDisabled: boolean }) {
  const id = useId()
  const problem = form.raw?.problem
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-soft">
        {label}
      </label>
      <TextInput
        id={id}
        value={rawText(form)}
        isCode
        isLong
        rows={Math.min(24, Math.max(6, rawText(form).split('\n', 24).length + 1))}
        isWrong={Boolean(problem)}
        describedBy={problem ? `${id}-about` : undefined}
        isDisabled={isDisabled}
        onText={form.setRaw}
      />
      {problem && (
        <p id={`${id}-about`} className="mt-1 text-xs text-failed">
          {problem}
        </p>
      )}
    </div>
  )
}
