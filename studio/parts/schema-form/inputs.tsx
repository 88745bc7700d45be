import { TriangleAlert } from 'lucide-react'
import type { Json } from 'perdure/client'
import { type ComponentProps, useId, useState } from 'react'
import { hasHidden, visible } from '../visible.ts'
import type { Choice } from './fields.ts'

const look =
  'w-full min-w-0 rounded-(--radius) border bg-panel px-2 py-1 min-h-8 max-md:min-h-11 max-md:text-base placeholder:text-faint disabled:opacity-60 aria-invalid:border-failed'

/** Longer texts are shown from their beginning until a person wants to edit them: browsers are slow with them. */
const longText = 20_000
const shownOfLong = 1_000

export type InputProps = {
  readonly id: string
  readonly isWrong: boolean
  readonly describedBy: string | undefined
  readonly isDisabled: boolean
}

const common = ({ id, isWrong, describedBy, isDisabled }: InputProps) => ({
  id,
  'aria-invalid': isWrong || undefined,
  'aria-describedby': describedBy,
  disabled: isDisabled,
})

type TextProps = InputProps & {
  readonly value: string
  readonly onText: (text: string) => void
  readonly isCode?: boolean
  readonly isLong?: boolean
  readonly inputMode?: ComponentProps<'input'>['inputMode']
  readonly rows?: number
  readonly list?: readonly string[]
}

/** A text of any length. Hidden characters are pointed out, because they can make a text look like another. */
export function TextInput(props: TextProps) {
  const { value, onText, isCode = false, inputMode, rows } = props
  const [isOpen, setOpen] = useState(value.length <= longText)
  // Decided once: an input that becomes another while a person types would lose the focus.
  const [isArea] = useState(props.isLong || value.length > 60 || value.includes('\n'))
  const listId = useId()
  if (!isOpen) return <LongText value={value} onOpen={() => setOpen(true)} isDisabled={props.isDisabled} />
  const shared = {
    ...common(props),
    value,
    spellCheck: !isCode,
    autoComplete: 'off',
    className: `${look} ${isCode ? 'font-mono text-xs' : ''}`,
  }
  return (
    <>
      {isArea ? (
        <textarea
          {...shared}
          rows={rows ?? Math.min(8, Math.max(2, value.split('\n', 8).length + (value.length > 200 ? 2 : 0)))}
          onChange={(event) => onText(event.target.value)}
        />
      ) : (
        <input
          {...shared}
          type="text"
          inputMode={inputMode}
          list={props.list ? listId : undefined}
          onChange={(event) => onText(event.target.value)}
        />
      )}
      {props.list && (
        <datalist id={listId}>
          {props.list.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
      {hasHidden(value) && (
        <p className="mt-1 flex items-start gap-1 text-xs text-waiting">
          <TriangleAlert className="mt-0.5 size-3.5 shrink-0" aria-hidden />
          <span className="min-w-0">
            There are characters in it that cannot be seen: <span className="font-mono">{visible(value, 200)}</span>
          </span>
        </p>
      )}
    </>
  )
}

function LongText({ value, onOpen, isDisabled }: { value: string; onOpen: () => void; isDisabled: boolean }) {
  return (
    <div className="min-w-0 rounded-(--radius) border p-2">
      <p className="line-clamp-4 font-mono text-xs break-all text-soft">{visible(value, shownOfLong)}</p>
      <button type="button" className="mt-1 link max-md:min-h-11" disabled={isDisabled} onClick={onOpen}>
        Edit all {value.length.toLocaleString()} characters
      </button>
    </div>
  )
}

type PickProps = InputProps & {
  readonly options: readonly Choice[]
  readonly chosen: number
  readonly onChoose: (value: Json | undefined) => void
  readonly label: string
}

const mostRadios = 6
const mostSelected = 300

/** Few options side by side, more of them in a list, very many by typing. */
export function Pick(props: PickProps) {
  const { options, chosen, onChoose } = props
  if (options.length <= mostRadios) return <Radios {...props} />
  if (options.length > mostSelected) return <TypedChoice {...props} />
  return (
    <select
      {...common(props)}
      className={look}
      value={chosen}
      onChange={(event) => onChoose(options[Number(event.target.value)]?.value)}
    >
      <option value={-1}>Choose…</option>
      {numbered(options).map(({ label, index }) => (
        <option key={index} value={index}>
          {visible(label, 120)}
        </option>
      ))}
    </select>
  )
}

/** The same label can be there twice. */
function numbered(options: readonly Choice[]): (Choice & { readonly index: number })[] {
  return options.map((option, index) => ({ ...option, index }))
}

function TypedChoice(props: PickProps) {
  const { options, chosen, onChoose } = props
  const [text, setText] = useState(options[chosen]?.label ?? '')
  return (
    <TextInput
      {...props}
      value={text}
      list={options.slice(0, mostSelected).map(({ label }) => label)}
      onText={(typed) => {
        setText(typed)
        onChoose(options.find(({ label }) => label === typed)?.value)
      }}
    />
  )
}

function Radios({ id, options, chosen, onChoose, isDisabled, isWrong, describedBy, label }: PickProps) {
  return (
    <div role="radiogroup" aria-label={label} aria-describedby={describedBy} id={id} className="flex flex-wrap gap-1.5">
      {numbered(options).map(({ index, ...option }) => (
        <label
          key={index}
          className={`flex min-h-8 max-w-full items-center gap-2 rounded-(--radius) border px-2.5 py-1 has-focus-visible:outline-2 has-focus-visible:outline-accent max-md:min-h-11 ${index === chosen ? 'border-strong bg-selected' : 'hover:bg-hover'} ${isWrong && chosen < 0 ? 'border-failed' : ''} ${isDisabled ? 'opacity-60' : 'cursor-pointer'}`}
        >
          <input
            type="radio"
            name={id}
            className="accent-strong outline-none"
            checked={index === chosen}
            disabled={isDisabled}
            onChange={() => onChoose(option.value)}
          />
          <span className="min-w-0">{visible(option.label, 200)}</span>
        </label>
      ))}
    </div>
  )
}
