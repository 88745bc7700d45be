import { defineExtension, type Extension } from '../define/define-extension.ts'
import { defineTool } from '../define/define-tool.ts'
import type { JsonSchema } from '../define/schema.ts'
import type { Tool } from '../define/tool.ts'

/** A question of the model. `single` and `multiple` have 2 to 10 options, `text` has none. */
export type Question = {
  readonly question: string
  readonly kind: 'single' | 'multiple' | 'text'
  readonly options?: readonly { readonly value: string; readonly label?: string }[]
}

/** The answer: exactly one of these. */
export type QuestionAnswer =
  | { readonly choice: string }
  | { readonly choices: readonly string[] }
  | { readonly text: string }
  | { readonly other: string }
  | { readonly cancelled: true }

/** Options of `askUser`. */
export type AskUserOptions = {
  /** Lets people answer `{ cancelled: true }`. Default: true. */
  readonly allowCancel?: boolean
  /** Lets people answer a choice in their own words, as `{ other }`. Default: false. */
  readonly allowOther?: boolean
  /** How long a question waits. Default: no limit. */
  readonly expiresInMs?: number
}

type AskTool = Tool<'ask_user', Question, QuestionAnswer, 'human', Question>

const maxAnswer = 10_000

/**
 * A tool with which the model asks a person: a choice of one, a choice of several, or free text. The answer is checked
 * by a schema with the options of that question, which is recorded with the call.
 */
export function askUser(options: AskUserOptions = {}): Extension<'ask_user', readonly [AskTool], undefined> {
  const { expiresInMs } = options
  const tool = defineTool({
    name: 'ask_user',
    description: 'Ask the user a question and wait for the answer. Give options for single and multiple choice.',
    input: {
      type: 'object',
      properties: {
        question: { type: 'string', minLength: 1 },
        kind: { enum: ['single', 'multiple', 'text'] },
        options: {
          type: 'array',
          maxItems: 10,
          items: {
            type: 'object',
            properties: { value: { type: 'string', minLength: 1 }, label: { type: 'string' } },
            required: ['value'],
            additionalProperties: false,
          },
        },
      },
      required: ['question', 'kind'],
      additionalProperties: false,
    },
    executor: 'human',
    output: (args) => answerSchema(args as Question, options),
    prompt: (args) => args,
    ...(expiresInMs === undefined ? {} : { expiresInMs }),
  })
  return defineExtension({
    name: 'ask_user',
    instructions: 'When you need something that only the user knows, ask with ask_user instead of guessing.',
    tools: [tool],
  }) as unknown as Extension<'ask_user', readonly [AskTool], undefined>
}

/** Each answer has exactly one member, so that forms and programs need not look at the question to read it. */
function answerSchema(
  { kind, options = [] }: Question,
  { allowCancel = true, allowOther = false }: AskUserOptions,
): JsonSchema {
  const properties = {
    ...(kind === 'text' ? { text: answerText } : choiceOf(kind, options)),
    ...(allowOther && kind !== 'text' ? { other: answerText } : {}),
    ...(allowCancel ? { cancelled: { enum: [true] } } : {}),
  }
  const [only, ...more] = Object.keys(properties)
  const one = more.length === 0 ? { required: [only] } : { minProperties: 1, maxProperties: 1 }
  return { type: 'object', properties, additionalProperties: false, ...one } as JsonSchema
}

const answerText = { type: 'string', minLength: 1, maxLength: maxAnswer }

function choiceOf(kind: 'single' | 'multiple', options: NonNullable<Question['options']>): object {
  const values = options.map(({ value }) => value)
  if (values.length < 2) throw new Error(`a question of kind '${kind}' needs 2 to 10 options`)
  if (new Set(values).size < values.length) throw new Error('each option needs a value of its own')
  const value = { enum: values }
  return kind === 'single' ? { choice: value } : { choices: { type: 'array', items: value, uniqueItems: true } }
}
