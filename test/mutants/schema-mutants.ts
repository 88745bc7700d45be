import type { Case, Mutant } from './mutant.ts'

const budget = (test: string): Case => ({ file: 'src/base/json-schema/budget.test.ts', test })
const costs = (what: string): Case =>
  budget(`${what} cost steps, and more of them than there are is too complex, also by a schema of code`)
const http = (test: string): Case => ({ file: 'test/server/caller-schemas.test.ts', test })
const story = (test: string): Case => ({ file: 'test/stories/turns-output-schemas.test.ts', test })

/** One rule each: what is wrong, where, what it says, what is left of it, and the case that sees it. */
const removed: readonly (readonly [name: string, file: string, find: string, replace: string, killedBy: Case])[] = [
  [
    'references of schemas are not counted',
    'src/base/json-schema/schema-node.ts',
    '    this.steps.take(1 + node.checks.length + (typed?.length ?? 0))\n',
    '',
    costs('references that double'),
  ],
  [
    'schemas apply within each other as deep as they like',
    'src/base/json-schema/schema-node.ts',
    'if (++this.#level > maxLevels)',
    'if (++this.#level > 1_000_000)',
    costs('a reference to itself'),
  ],
  [
    'unique items are not counted',
    'src/base/json-schema/applicator-keywords.ts',
    "    steps.take(typeof item === 'string' ? 8 + stepsOfText(item) : 8)\n",
    '',
    costs('unique numbers'),
  ],
  [
    'values that are compared are not counted',
    'src/base/json-schema/step-budget.ts',
    '  steps.take(10 + 6 * keys.length)\n',
    '',
    costs('objects in an enum'),
  ],
  [
    'properties are not counted',
    'src/base/json-schema/applicator-keywords.ts',
    '  evaluation.steps.take(1 + 3 * keys.length)\n',
    '',
    costs('properties'),
  ],
  [
    'required properties are not counted',
    'src/base/json-schema/applicator-keywords.ts',
    '  evaluation.steps.take(names.length)\n',
    '',
    costs('required properties'),
  ],
  [
    'what is left over is not counted',
    'src/base/json-schema/schema-node.ts',
    'const stepsPerKey = 4',
    'const stepsPerKey = 0',
    costs('what was evaluated far above'),
  ],
  [
    'formats are not counted',
    'src/base/json-schema/value-keywords.ts',
    'evaluation.steps.take(stepsOfFormat + 2 * stepsOfText(value as string))',
    '',
    costs('formats'),
  ],
  [
    'a regular expression that is a value is read without a count',
    'src/base/json-schema/value-keywords.ts',
    '  steps.take(stepsToParse(text))\n',
    '',
    costs('a regular expression as a value'),
  ],
  [
    'lengths of texts are not counted',
    'src/base/json-schema/value-keywords.ts',
    '    evaluation.steps.take(2 * stepsOfText(value as string))\n    const length',
    '    const length',
    costs('lengths'),
  ],
  [
    'a pattern is matched without a count',
    'src/base/json-schema/pattern/linear-pattern.ts',
    '        steps.take(1)\n',
    '',
    budget('a pattern cost steps by their size and the text'),
  ],
  [
    'repetitions of a pattern are not counted',
    'src/base/json-schema/pattern/linear-pattern.ts',
    '      this.#steps.take(1)\n',
    '',
    budget('when it repeats nothing without measure'),
  ],
  [
    'schemas from outside have the regular expressions of JavaScript',
    'src/base/json-schema/compile-schema.ts',
    "this.#origin === 'code' ? nativePattern",
    'true ? nativePattern',
    budget('schemas of code keep the regular expressions of JavaScript'),
  ],
  [
    'schemas of code lose the regular expressions of JavaScript',
    'src/base/json-schema/compile-schema.ts',
    "this.#origin === 'code' ? nativePattern",
    'false ? nativePattern',
    story("the agent's own keeps the regular expressions of JavaScript, by whichever process it is checked"),
  ],
  [
    'a schema from outside is read without a limit',
    'src/base/json-schema/compile-schema.ts',
    "origin === 'code' ? Infinity : maxSchemaSteps",
    'Infinity',
    budget('when it has a huge enum'),
  ],
  [
    'what a schema costs at any rate is not looked at when it is sent',
    'src/base/json-schema/compile-schema.ts',
    '  checkStaticCost(root)\n',
    '',
    http('refuses one that doubles forty times, and keeps nothing of it'),
  ],
  [
    'a reference to nothing is found when a value comes',
    'src/base/json-schema/compile-schema.ts',
    'if (reference !== undefined)',
    'if (reference === undefined && unresolved.length > 0)',
    http('refuses one that refers to nothing, and keeps nothing of it'),
  ],
  [
    'a schema that is sent along is not looked at',
    'src/define/schema.ts',
    '    checkOutsideSchema(schema)\n',
    '',
    story('one that doubles forty times is refused when it is sent, and nothing is kept'),
  ],
  [
    'every schema in a log is taken for code',
    'src/engine/turn/finish-message.ts',
    ': validateOutside(schema, value)',
    ': validate(schema, value)',
    story('and fails when that has no bound, which no log can claim it need not have'),
  ],
  [
    'no schema in a log is taken for code',
    'src/engine/turn/finish-message.ts',
    'own !== null && isDeepStrictEqual(schema, own)',
    'own !== null && own === null',
    story('and in a fork'),
  ],
  [
    'an object that could not be checked is asked for again',
    'src/engine/turn/finish-message.ts',
    "  if (isTooComplex) return { type: 'fail', reason: 'schema_too_complex' }\n",
    '',
    story('and fails when that has no bound, which no log can claim it need not have'),
  ],
  [
    'an answer for a tool that is gone is taken as it is',
    'src/define/validate.ts',
    "  const checked = validateOutside(asSchema(schema), record(value, 'answer'))\n",
    "  const checked = validateOutside({}, record(value, 'answer'))\n",
    story(
      'an answer for a tool that is gone is checked by the schema in the log, within bounds; one that has none still waits',
    ),
  ],
  [
    'a server takes schemas of its callers unasked',
    'src/server/server-options.ts',
    'callerSchemas: options.callerSchemas === true',
    'callerSchemas: options.callerSchemas !== false',
    http('refuses a message that brings one, and keeps nothing of it'),
  ],
  [
    'a server does not look for schemas of its callers',
    'src/server/routes/turns.ts',
    "if (options.output && !server.settings.callerSchemas) throw new SchemaNotAllowedError('output')",
    '',
    http('refuses a message that brings one, and keeps nothing of it'),
  ],
]

export const schemaMutants: readonly Mutant[] = removed.map(([name, file, find, replace, killedBy]) => ({
  name,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
