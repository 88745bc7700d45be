import { Plus, Undo2, X } from 'lucide-react'
import type { Json } from 'perdure/client'
import { type ReactNode, useId } from 'react'
import { visible } from '../visible.ts'
import { type Field, fieldsOfValue, type Property } from './fields.ts'
import { type InputProps, Pick, TextInput } from './inputs.tsx'
import type { Form } from './use-form.ts'
import {
  addedValue,
  isObject,
  isSame,
  jsonText,
  numberText,
  type Path,
  parseJson,
  parseNumber,
  valueAt,
} from './values.ts'

type Given = {
  readonly form: Form
  readonly isDisabled?: boolean
  /** Beside each field: whether it is as the model asked, or what it was. */
  readonly showsChanges?: boolean
  /** Problems are shown where a person has typed, and everywhere once they tried to send. */
  readonly showsProblems: boolean
}

/** The fields of a form. Its buttons are those of the page. */
export function SchemaForm(given: Given & { readonly label: string }) {
  const { form, label } = given
  if (form.field.kind === 'object' && !form.field.isNullable && isObject(form.value ?? {}))
    return (
      <div className="flex min-w-0 flex-col gap-3">
        <Members {...given} field={form.field} path={[]} />
      </div>
    )
  return <FieldRow {...given} field={form.field} path={[]} name={label} isRequired isBare />
}

type Placed<F extends Field = Field> = Given & { readonly field: F; readonly path: Path }

const noMembers = 'It takes no arguments.'

function Members({ field, path, ...given }: Placed<Extract<Field, { kind: 'object' }>>) {
  const value = valueAt(given.form.value, path)
  const known = new Set(field.properties.map(({ name }) => name))
  // What runs must be seen, also what the schema does not name.
  const extra = isObject(value) ? Object.entries(value).filter(([name]) => !known.has(name)) : []
  const others = extra
    .slice(0, 50)
    .map(([name, member]): Property => ({ name, isRequired: false, field: fieldsOfValue(member) }))
  const all = [...field.properties, ...others]
  if (all.length === 0) return <p className="text-soft">{noMembers}</p>
  return (
    <>
      {all.map(({ name, isRequired, field: member }) => (
        <FieldRow key={name} {...given} field={member} path={[...path, name]} name={name} isRequired={isRequired} />
      ))}
      {extra.length > others.length && (
        <p className="text-soft">{extra.length - others.length} more are in the JSON.</p>
      )}
    </>
  )
}

type RowProps = Placed & {
  readonly name: string
  readonly isRequired: boolean
  readonly isBare?: boolean
  readonly onRemove?: () => void
}

function FieldRow({ field, path, name, isRequired, isBare = false, onRemove, ...given }: RowProps) {
  const { form, isDisabled = false, showsChanges = false, showsProblems } = given
  const id = useId()
  const value = valueAt(form.value, path)
  const place = JSON.stringify(path)
  const typed = form.typedAt(path)
  const own = form.problems.filter((problem) => JSON.stringify(problem.path) === place)
  const isTouched = typed !== undefined || !isSame(value, valueAt(form.before, path))
  const problems = showsProblems || (isTouched && value !== undefined) ? own : []
  const isGroup = field.kind === 'object' || field.kind === 'list'
  const label = field.title ?? name
  const describedBy = problems.length > 0 || field.description ? `${id}-about` : undefined
  const input: InputProps = { id, isWrong: problems.length > 0, describedBy, isDisabled }
  const remove = onRemove ?? (isRequired || value === undefined ? undefined : () => form.set(path, undefined))
  const isGroupShown = isGroup && value !== undefined && value !== null
  const body = <Body {...given} field={field} path={path} value={value} input={input} label={label} />
  const tools = (
    <div className="flex min-h-8 min-w-0 shrink-0 flex-wrap items-center gap-1 text-xs empty:hidden max-md:min-h-0">
      {showsChanges && <Change form={form} path={path} isDisabled={isDisabled} isGroup={isGroupShown} />}
      {field.isNullable && value !== null && (
        <Small onClick={() => form.set(path, null)} isDisabled={isDisabled}>
          Set to null
        </Small>
      )}
      {remove && (
        <Small onClick={remove} isDisabled={isDisabled} label={`Remove ${visible(label, 60)}`}>
          <X className="size-3.5" aria-hidden />
        </Small>
      )}
    </div>
  )
  const about = describedBy && (
    <div id={describedBy} className="mt-1 text-xs">
      {problems.map(({ text }) => (
        <p key={text} className="text-failed">
          {visible(text, 300)}
        </p>
      ))}
      {field.description && <p className="line-clamp-4 text-faint">{visible(field.description, 500)}</p>}
    </div>
  )
  const labelled = (
    <Label
      htmlFor={isGroupShown || field.kind === 'constant' ? undefined : id}
      isOptional={!isRequired && value === undefined}
      text={label}
      isSame={label === name}
      name={name}
    />
  )
  if (isGroupShown)
    return (
      <fieldset className="min-w-0">
        <legend className="sr-only">{visible(label, 120)}</legend>
        <div className="flex items-center justify-between gap-3">
          {labelled}
          {tools}
        </div>
        <div className="mt-1 flex flex-col gap-3 border-l pl-3">{body}</div>
        {about}
      </fieldset>
    )
  return (
    <div
      className={`grid min-w-0 items-start gap-x-3 gap-y-1 max-md:grid-cols-1 ${isBare ? '' : showsChanges ? 'md:grid-cols-[minmax(80px,132px)_minmax(0,1fr)_160px]' : 'md:grid-cols-[minmax(80px,132px)_minmax(0,1fr)_auto]'}`}
    >
      <div className={isBare ? '' : 'md:pt-1.5'}>{labelled}</div>
      <div className="min-w-0">
        {body}
        {about}
      </div>
      {tools}
    </div>
  )
}

type LabelProps = { htmlFor: string | undefined; text: string; name: string; isOptional: boolean; isSame: boolean }

function Label({ htmlFor, text, name, isOptional, isSame: isName }: LabelProps) {
  const words = (
    <>
      <span className={isName ? 'font-mono text-xs' : ''}>{visible(text, 80)}</span>
      {isOptional && <span className="ml-1 text-xs text-faint">optional</span>}
    </>
  )
  const title = isName ? undefined : name
  return htmlFor === undefined ? (
    <span className="text-soft" title={title}>
      {words}
    </span>
  ) : (
    <label htmlFor={htmlFor} className="text-soft" title={title}>
      {words}
    </label>
  )
}

type ChangeProps = { form: Form; path: Path; isDisabled: boolean; isGroup: boolean }

/** `as the model asked`, or `was 5000`, which a click brings back. The members of a group say the first each for themselves. */
function Change({ form, path, isDisabled, isGroup }: ChangeProps) {
  const before = valueAt(form.before, path)
  const now = valueAt(form.value, path)
  if (isSame(before, now) && !form.typedAt(path)?.problem) {
    return before === undefined || isGroup ? null : (
      <span className="px-1 whitespace-nowrap text-faint max-md:px-0">as the model asked</span>
    )
  }
  const was =
    before === undefined
      ? 'was not set'
      : `was ${visible(typeof before === 'string' ? before || 'empty' : JSON.stringify(before), 24)}`
  return (
    <Small onClick={() => form.set(path, before)} isDisabled={isDisabled} label={`${was}; take it back`} isMarked>
      {was}
      <Undo2 className="size-3.5 shrink-0" aria-hidden />
    </Small>
  )
}

type SmallProps = { onClick: () => void; isDisabled: boolean; label?: string; isMarked?: boolean; children: ReactNode }

function Small({ onClick, isDisabled, label, isMarked = false, children }: SmallProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      disabled={isDisabled}
      onClick={onClick}
      className={`inline-flex min-h-6 items-center gap-1 rounded px-1 whitespace-nowrap hover:bg-hover max-md:min-h-11 max-md:px-2 ${isMarked ? 'text-waiting' : 'text-soft hover:text-text'}`}
    >
      {children}
    </button>
  )
}

type BodyProps = Placed & { readonly value: Json | undefined; readonly input: InputProps; readonly label: string }

function Body({ field, path, value, input, label, ...given }: BodyProps) {
  const { form, isDisabled = false } = given
  if (value === null && field.kind !== 'constant' && field.kind !== 'json')
    return (
      <Missing id={input.id} words="null" isDisabled={isDisabled} onSet={() => form.set(path, addedValue(field))} />
    )
  switch (field.kind) {
    case 'text':
      if (value !== undefined && typeof value !== 'string') break
      return (
        <TextInput
          {...input}
          value={value ?? ''}
          isLong={field.least > 200 || (field.most > 200 && /note|text|message|body|comment|reason|why/i.test(label))}
          inputMode={field.format === 'email' ? 'email' : field.format === 'uri' ? 'url' : undefined}
          onText={(text) => form.set(path, text === '' && valueAt(form.before, path) === undefined ? undefined : text)}
        />
      )
    case 'number':
      if (value !== undefined && typeof value !== 'number') break
      return <NumberField form={form} path={path} value={value} input={input} isWhole={field.isWhole} />
    case 'boolean': {
      if (value !== undefined && typeof value !== 'boolean') break
      const options = [
        { value: true, label: 'Yes' },
        { value: false, label: 'No' },
      ]
      const chosen = value === undefined ? -1 : value ? 0 : 1
      return (
        <Pick {...input} label={label} options={options} chosen={chosen} onChoose={(next) => form.set(path, next)} />
      )
    }
    case 'choice': {
      const chosen = value === undefined ? -1 : field.options.findIndex((option) => isSame(option.value, value))
      if (value !== undefined && chosen < 0) break
      return (
        <Pick
          {...input}
          label={label}
          options={field.options}
          chosen={chosen}
          onChoose={(next) => form.set(path, next)}
        />
      )
    }
    case 'constant':
      return <p className="py-1.5 font-mono text-xs">{visible(JSON.stringify(field.value), 300)}</p>
    case 'object':
      if (value === undefined)
        return (
          <Missing
            id={input.id}
            words="not set"
            isDisabled={isDisabled}
            onSet={() => form.set(path, addedValue(field))}
          />
        )
      if (!isObject(value)) break
      return <Members {...given} field={field} path={path} />
    case 'list':
      if (value === undefined)
        return <Missing id={input.id} words="not set" isDisabled={isDisabled} onSet={() => form.set(path, [])} />
      if (!Array.isArray(value)) break
      return <Items {...given} field={field} path={path} items={value} label={label} />
    case 'json':
      break
  }
  return (
    <JsonField form={form} path={path} value={value} input={input} why={field.kind === 'json' ? field.why : null} />
  )
}

function Missing({
  id,
  words,
  onSet,
  isDisabled,
}: {
  id: string
  words: string
  onSet: () => void
  isDisabled: boolean
}) {
  return (
    <div className="flex min-h-8 items-center gap-2">
      <span className="font-mono text-xs text-faint">{words}</span>
      <button id={id} type="button" className="link max-md:min-h-11" disabled={isDisabled} onClick={onSet}>
        Set
      </button>
    </div>
  )
}

type LeafProps = { form: Form; path: Path; input: InputProps }

function NumberField({
  form,
  path,
  value,
  input,
  isWhole,
}: LeafProps & { value: number | undefined; isWhole: boolean }) {
  const shown = form.typedAt(path)?.text ?? (value === undefined ? '' : numberText(value))
  return (
    <TextInput
      {...input}
      value={shown}
      inputMode={isWhole ? 'numeric' : 'decimal'}
      onText={(text) => {
        if (text.trim() === '') return form.set(path, undefined, { text, problem: null })
        const parsed = parseNumber(text)
        if (parsed.ok) form.set(path, parsed.value, { text, problem: null })
        else form.setTyped(path, { text, problem: parsed.problem })
      }}
    />
  )
}

function JsonField({ form, path, value, input, why }: LeafProps & { value: Json | undefined; why: string | null }) {
  const shown = form.typedAt(path)?.text ?? jsonText(value)
  // What is there already shows what JSON is.
  const example = valueAt(form.before, path) === undefined ? 'JSON, such as "yes" or 5.' : ''
  const about = [example, why].filter(Boolean).join(' ')
  return (
    <>
      <TextInput
        {...input}
        value={shown}
        isCode
        isLong
        onText={(text) => {
          if (text.trim() === '') return form.set(path, undefined, { text, problem: null })
          const parsed = parseJson(text)
          if (parsed.ok) form.set(path, parsed.value, { text, problem: null })
          else form.setTyped(path, { text, problem: parsed.problem })
        }}
      />
      {about && <p className="mt-1 text-xs text-faint">{about}</p>}
    </>
  )
}

const mostItems = 50

/** An item has no name but its place; what is typed in it is in the form. */
function placed(items: readonly Json[]): { readonly item: Json; readonly index: number }[] {
  return items.slice(0, mostItems).map((item, index) => ({ item, index }))
}

type ItemsProps = Placed<Extract<Field, { kind: 'list' }>> & { readonly items: readonly Json[]; readonly label: string }

function Items({ field, path, items, label, ...given }: ItemsProps) {
  const { form, isDisabled = false } = given
  return (
    <>
      {items.length === 0 && <p className="text-faint">No items.</p>}
      {placed(items).map(({ item, index }) => (
        <FieldRow
          key={index}
          {...given}
          field={field.item.kind === 'json' && field.item.why === null ? fieldsOfValue(item) : field.item}
          path={[...path, index]}
          name={String(index + 1)}
          isRequired
          onRemove={() => form.set([...path, index], undefined)}
        />
      ))}
      {items.length > mostItems && (
        <p className="text-soft">{(items.length - mostItems).toLocaleString()} more are in the JSON.</p>
      )}
      {items.length < Math.min(field.most, mostItems) && (
        <button
          type="button"
          disabled={isDisabled}
          className="inline-flex min-h-8 items-center gap-1 self-start link max-md:min-h-11"
          onClick={() => form.set([...path, items.length], addedValue(field.item))}
        >
          <Plus className="size-4" aria-hidden />
          Add to {visible(label, 60)}
        </button>
      )}
    </>
  )
}
