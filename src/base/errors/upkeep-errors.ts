import { PerdureError } from './perdure-error.ts'

export class UpkeepUnsupportedError extends PerdureError {
  constructor() {
    super(
      'upkeep_unsupported',
      'This store does not offer upkeep: it cannot be exported, imported into or examined. Use the means of its own backend.',
    )
  }
}

/** `line` counts from 1. What came before the conversation it is in has been imported, and of that conversation nothing. */
export class ImportInvalidError extends PerdureError {
  readonly line: number

  constructor(line: number, problem: string, options: { cause?: unknown } = {}) {
    super(
      'import_invalid',
      `Line ${line} of the export is not valid: ${problem}. Of the conversation it is in nothing was written; make or fetch the export again, and import it with skipExisting (--skip-existing).`,
      options,
    )
    this.line = line
  }
}

export class ImportTooNewError extends PerdureError {
  constructor(found: number, known: number) {
    super(
      'import_too_new',
      `The export has version ${found}; this version of perdure reads up to ${known}. Nothing was written; upgrade perdure.`,
    )
  }
}

export class ImportExistsError extends PerdureError {
  constructor(tenant: string, what: string) {
    super(
      'import_exists',
      `The store has ${what} of tenant '${tenant}' already, and nothing of it was written. Pass skipExisting (--skip-existing) to leave it as it is, or import into an empty store.`,
    )
  }
}
